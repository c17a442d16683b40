"""What a turn puts into the log for queues: it gathers, so that a queue costs a record for each turn, not each message.

Messages for the same queues, one run after the other, become one record; a body is stored once however many queues get
it. Nobody sees the messages before they are safe. What consumers are done with becomes ranges.
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
"""Messages of one record are read back together: it does not get larger than this, unless one message is."""

PutRuns = dict[Queue, list[Entry]]
"""The same messages in one or several queues."""


class QueueWrites:
    """Gathers until `flush`."""

    def __init__(self, store: Store, held: HeldBack) -> None:
        self._store = store
        self._held = held
        self.ledger = store.ledger
        self._gathered: list[PutRuns] = []
        self._by_client: list[tuple[Outlet | None, PutRuns]] = []
        """All that has been put, with the client that was being served."""
        self._last: dict[Queue, PutRuns] = {}
        self._done: dict[Cursor, list[int]] = {}
        self._failed: list[bytes] = []

    def put(self, runs: PutRuns) -> None:
        """Store these; they are shown when they are safe."""
        self._by_client.append((self._store.defects.serving, runs))
        queues = list(runs)
        last = self._last.get(queues[0])
        if last is not None and list(last) == queues and all(self._last.get(queue) is last for queue in queues):
            for queue, entries in runs.items():
                last[queue] += entries
            return
        gathered: PutRuns = {queue: list(entries) for queue, entries in runs.items()}
        self._gathered.append(gathered)
        self._last.update(dict.fromkeys(queues, gathered))

    def done(self, cursor: Cursor, offsets: list[int]) -> None:
        """These messages are not needed any more."""
        known = self._done.get(cursor)
        if known is None:
            self._done[cursor] = offsets
        else:
            known += offsets

    def failed(self, cursor: Cursor, offset: int, deliveries: int) -> None:
        """So many deliveries of a message have failed."""
        self._failed.append(DELIVERIES_ROW.pack(cursor.number, offset, deliveries))

    def flush_puts(self, *, whole: bool = False) -> None:
        """Store what has been put so far, and show it when that is safe.

        A message that cannot be stored is left out, and whoever sent it is cut off; `whole`: all of them or none.
        """
        if not self._gathered:
            return
        gathered, self._gathered = self._gathered, []
        by_client, self._by_client = self._by_client, []
        self._last.clear()
        # A queue that has been deleted meanwhile has no cursor any more.
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
        """Some of these messages cannot be stored: find out which, and leave them out."""
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
        """Nothing of what has been put since the last flush shall be stored."""
        _forget(self._gathered)
        self._gathered, self._by_client = [], []
        self._last.clear()

    def flush(self) -> None:
        """The turn is over.

        Counts of failures come last. A message that has failed too often was moved in this turn, and that is in the log
        already: a crash leaves no message in its queue with a count that should have taken it out.
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
        """Write the same messages for one or several queues; the entries learn their offsets."""
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
        """Tell the log that these are not needed any more."""
        if self.ledger.cursors.get(cursor.number) is not cursor:
            return
        for lo, hi in as_ranges(offsets):
            self.ledger.acknowledge(cursor, lo, hi)


def _forget(gathered: list[PutRuns]) -> None:
    """Nobody will see these messages."""
    for runs in gathered:
        for queue, entries in runs.items():
            if not queue.deleted:
                queue.forget_puts(entries)


def _sender_of(queue: Queue, entry: Entry, by_client: list[tuple[Outlet | None, PutRuns]]) -> Outlet | None:
    """The client on whose account a message was put; None if it was nobody's."""
    for client, runs in by_client:
        if entry in runs.get(queue, ()):
            return client
    return None


def as_ranges(offsets: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Numbers as ranges; none comes twice."""
    if offsets[-1] - offsets[0] == len(offsets) - 1 and list(range(offsets[0], offsets[-1] + 1)) == offsets:
        yield offsets[0], offsets[-1] + 1  # in order, as nearly always
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
