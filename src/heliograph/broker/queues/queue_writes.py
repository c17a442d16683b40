"""Gathers what a turn writes to the log for queues: one record per queue and turn, not per message.

Consecutive puts to the same queues become one record, and a message is stored once however many queues get it. Messages
become visible when they are safe. Acknowledgements are written as ranges.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from heliograph.broker.core.outlet import Outlet
from heliograph.broker.queues.entry import Entry
from heliograph.broker.queues.queue import Queue
from heliograph.broker.storage import record_kinds
from heliograph.broker.storage.held_back import HeldBack
from heliograph.broker.storage.queue_records import DELIVERIES_ROW
from heliograph.broker.storage.store import Store
from heliograph.log import Cursor, QueueMessages

_RECORD_SIZE = 256 << 10
"""Largest record, unless a single message is larger. Messages of a record are read back together."""

PutRuns = dict[Queue, list[Entry]]
"""The same messages in one or several queues."""


class QueueWrites:
    """Gathers puts, acknowledgements and failures until `flush`."""

    def __init__(self, store: Store, held: HeldBack) -> None:
        self._store = store
        self._held = held
        self.ledger = store.ledger
        self._gathered: list[PutRuns] = []
        self._by_client: list[tuple[Outlet | None, PutRuns]] = []
        """Everything that was put, with the client that was served at that time, to blame it if storing fails."""
        self._last: dict[Queue, PutRuns] = {}
        self._done: dict[Cursor, list[int]] = {}
        self._failed: list[bytes] = []

    def put(self, runs: PutRuns) -> None:
        """Store these messages; they become visible when they are safe."""
        self._by_client.append((self._store.defects.serving, runs))
        queues = list(runs)
        last = self._last.get(queues[0])
        # Only the last put of each of the queues may be extended, or the order of a queue would change.
        if last is not None and list(last) == queues and all(self._last.get(queue) is last for queue in queues):
            for queue, entries in runs.items():
                last[queue] += entries
            return
        gathered: PutRuns = {queue: list(entries) for queue, entries in runs.items()}
        self._gathered.append(gathered)
        self._last.update(dict.fromkeys(queues, gathered))

    def done(self, cursor: Cursor, offsets: list[int]) -> None:
        """Acknowledge these messages."""
        known = self._done.get(cursor)
        if known is None:
            self._done[cursor] = offsets
        else:
            known += offsets

    def failed(self, cursor: Cursor, offset: int, deliveries: int) -> None:
        """Store the number of failed deliveries of a message."""
        self._failed.append(DELIVERIES_ROW.pack(cursor.number, offset, deliveries))

    def flush_puts(self, *, whole: bool = False) -> None:
        """Store what was put so far, and make it visible when that is safe.

        A message that cannot be stored is dropped and its sender disconnected. With `whole`, all are stored or none.
        """
        if not self._gathered:
            return
        gathered, self._gathered = self._gathered, []
        by_client, self._by_client = self._by_client, []
        self._last.clear()
        # A queue that was deleted meanwhile has no cursor any more.
        kept = [{queue: run for queue, run in runs.items() if not queue.deleted} for runs in gathered]
        kept = [runs for runs in kept if runs]
        for runs in kept:
            try:
                self.store(runs)
            except Exception:
                if whole:
                    _forget(kept)
                    raise
                self._store_each(runs, by_client)
        self._held.when_safe(lambda: self._show(kept))

    def _store_each(self, runs: PutRuns, by_client: list[tuple[Outlet | None, PutRuns]]) -> None:
        """Store messages one by one, to find those that cannot be stored and drop them."""
        defects = self._store.defects
        for place in range(len(next(iter(runs.values())))):
            one = {queue: [run[place]] for queue, run in runs.items()}
            queue, (entry,) = next(iter(one.items()))
            if entry.offset >= 0:  # in a record that was written before the one that could not be
                continue
            try:
                self.store(one)
            except Exception:
                _forget([one])
                client = _sender_of(queue, entry, by_client)
                defects.note(f"a message for queue {queue.name} could not be stored", client)
                if client is None:
                    self._store.halt()
        for run in runs.values():
            run[:] = [entry for entry in run if entry.offset >= 0]

    def forget_puts(self) -> None:
        """Drop what was put since the last flush."""
        _forget(self._gathered)
        self._gathered, self._by_client = [], []
        self._last.clear()

    def flush(self) -> None:
        """Write everything at the end of the turn.

        Failures come last. A message that failed too often was moved to another queue in this turn, which is in the log
        before: so a crash never leaves a message in its queue with a count above the threshold.
        """
        self.flush_puts()
        if self._done:
            for cursor, offsets in self._done.items():
                self.acknowledge(cursor, offsets)
            self._done.clear()
        if self._failed:
            self.ledger.append_record(record_kinds.DELIVERIES, *self._failed)
            self._failed.clear()

    def store(self, runs: PutRuns) -> None:
        """Write the same messages for one or several queues, and set the offsets of the entries."""
        cursors = [queue.storage.cursor for queue in runs if queue.storage is not None]
        entries = next(iter(runs.values()))
        for lo, hi in _parts([entry.size for entry in entries]):
            part = entries[lo:hi]
            messages = QueueMessages.of(
                [entry.payload or b"" for entry in part],
                [entry.priority for entry in part],
                bytes(hi - lo),
                [entry.expires for entry in part],
                [entry.deliver_at for entry in part],
            )
            offsets = self.ledger.store(messages, cursors, [0] * len(cursors))
            for run, first in zip(runs.values(), offsets, strict=True):
                for offset, entry in enumerate(run[lo:hi], first):
                    entry.offset = offset

    def _show(self, gathered: list[PutRuns]) -> None:
        for runs in gathered:
            for queue, entries in runs.items():
                try:
                    queue.show(entries)
                except Exception:
                    self._store.defects.note(f"queue {queue.name} does not show messages that are in the log")

    def acknowledge(self, cursor: Cursor, offsets: list[int]) -> None:
        """Acknowledge these offsets to the log, unless the cursor was dropped."""
        if self.ledger.cursors.get(cursor.number) is not cursor:
            return
        for lo, hi in as_ranges(offsets):
            self.ledger.acknowledge(cursor, lo, hi)


def _forget(gathered: list[PutRuns]) -> None:
    """Discount messages that will not be stored."""
    for runs in gathered:
        for queue, entries in runs.items():
            if not queue.deleted:
                queue.forget_puts(entries)


def _sender_of(queue: Queue, entry: Entry, by_client: list[tuple[Outlet | None, PutRuns]]) -> Outlet | None:
    """The client that was served when a message was put; None if there was none."""
    for client, runs in by_client:
        if entry in runs.get(queue, ()):
            return client
    return None


def as_ranges(offsets: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Distinct numbers as ranges."""
    if offsets[-1] - offsets[0] == len(offsets) - 1 and list(range(offsets[0], offsets[-1] + 1)) == offsets:
        yield offsets[0], offsets[-1] + 1  # the most frequent case: consecutive
        return
    offsets = sorted(offsets)
    lo = hi = offsets[0]
    for offset in offsets:
        if offset != hi:
            yield lo, hi
            lo = offset
        hi = offset + 1
    yield lo, hi


def _parts(sizes: list[int]) -> list[tuple[int, int]]:
    """Where to cut messages of these sizes into records."""
    total = sum(sizes)
    if total <= _RECORD_SIZE:
        return [(0, len(sizes))]
    parts = []
    lo = 0
    start = 0
    for hi, end in enumerate(accumulate(sizes), 1):
        if hi == len(sizes) or end - start + sizes[hi] > _RECORD_SIZE:
            parts.append((lo, hi))
            lo, start = hi, end
    return parts
