"""Loading: reading the messages of queues from the log after a restart, when one of the queues is first used.

The messages of all queues are mixed in the log. So the first use of any queue loads all queues that are not loaded:
doing it queue by queue would read the same part of the log again and again. This may take long, so it is done in
slices. Until it is finished nothing of it is visible: consumers wait, and messages that are put meanwhile go behind
those that are found.
"""

import heapq
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import islice, repeat, starmap
from operator import attrgetter
from typing import Any

from heliograph.broker.core.slices import Steps
from heliograph.broker.queues.entry import Entry, cost_of
from heliograph.broker.queues.queue import Queue
from heliograph.broker.queues.queue_contents import QueueContents
from heliograph.broker.queues.queue_storage import Memory, QueueStorage
from heliograph.log import (
    Chunk,
    MessageLog,
    QueueMessages,
    Record,
    decode_queue_messages,
    log_kinds,
    receivers_of,
    records_in,
    single_queue_message,
)

_READ_AT_ONCE = 64 << 10
_AT_ONCE = 500
"""Messages that are added to a queue in one step."""


class Loading:
    """One pass over the log, for all queues that are not loaded. The log must not be compacted meanwhile."""

    def __init__(self, ledger: MessageLog, memory: Memory, queues: Iterable[Queue]) -> None:
        self.wanted: dict[QueueContents, None] = {}
        """The queues that are being waited for."""
        self._ledger = ledger
        self._memory = memory
        self._room = self._had = memory.budget - memory.held
        """Bytes of payloads that may still be kept in memory, and the same at the beginning of the step."""
        self._found: dict[Queue, _Found] = {}
        self._storages: dict[int, tuple[Queue, QueueStorage]] = {}
        """By the number of the cursor."""
        for queue in queues:
            assert queue.storage is not None
            self._found[queue] = _Found()
            self._storages[queue.storage.cursor.number] = queue, queue.storage
        self._chunks: dict[int, Chunk | None] = dict.fromkeys(self._storages)
        """The chunk of the last message of each cursor; the next message is usually in the same one."""

    def steps(self) -> Steps:
        """Read all messages that are safe, and add them to their queues.

        A Problem if the log is damaged; then nothing is added.
        """
        try:
            yield from self._read()
        except Exception:
            for number, found in [(number, self._found[queue]) for number, (queue, _) in self._storages.items()]:
                for entries in found.runs:
                    self._storages[number][1].forget(entries)
                self._storages[number][1].forget(entry for _, _, entry in found.delayed)
            for queue, storage in self._storages.values():
                _give_up(queue, storage)
            raise
        for queue, found in self._found.items():
            yield from self._take_up(queue, found)

    def _read(self) -> Steps:
        for records in _records(self._ledger, [storage for _, storage in self._storages.values()]):
            for record in records:
                # Fast path: there may be as many records as messages.
                alone = single_queue_message(record.body) if record.count == 1 else None
                if alone is not None:
                    self._take_alone(record, *alone)
                else:
                    yield from self._take(record)
            self._charge()
            yield None

    def _charge(self) -> None:
        """Count the payloads that this step has kept in memory."""
        self._memory.add(self._had - self._room)
        self._room = self._had = self._memory.budget - self._memory.held

    def _counts(self, record: Record, number: int, offset: int) -> bool:
        """Whether this record is the valid copy of messages that the cursor still has."""
        if number not in self._chunks:
            return False
        chunk = self._chunks[number]
        if chunk is None or not chunk.first <= offset < chunk.next:
            chunk = self._chunks[number] = self._storages[number][1].cursor.chunk_of(offset)
        return chunk is not None and chunk.start <= record.position < chunk.end

    def _take_alone(self, record: Record, number: int, offset: int, size: int, priority: int, start: int) -> None:
        """A record of one message for one cursor."""
        if not self._counts(record, number, offset):
            return
        queue, storage = self._storages[number]
        if offset >= storage.shown or not storage.cursor.is_pending(offset):
            return
        payload = None
        if self._room > 0:
            payload = record.body[start : start + size]
            self._room -= size
        entry = Entry(payload, size, priority, 0, 0, record.time, offset)
        if storage.failed:
            entry.deliveries = storage.failed.get(offset, 0)
        self._found[queue].add([entry])

    def _take(self, record: Record) -> Steps:
        """Any record of messages."""
        receivers = receivers_of(record.body)
        messages: QueueMessages | None = None
        for number, offset in zip(receivers.cursors, receivers.offsets, strict=True):
            if self._counts(record, number, offset):
                queue, storage = self._storages[number]
                messages = messages or decode_queue_messages(record.body, record.count)
                in_memory = self._room > 0
                for entries in _entries(queue, storage, record, messages, offset, in_memory=in_memory):
                    if in_memory:
                        self._room -= sum([entry.size for entry in entries])
                    self._found[queue].add(entries)
                    if len(entries) == _AT_ONCE:
                        self._charge()
                        yield None

    def _take_up(self, queue: Queue, found: "_Found") -> Steps:
        """Add messages to a queue; those that were put meanwhile come last."""
        storage = queue.storage
        assert storage is not None
        entries = found.in_order()
        try:
            while some := list(islice(entries, _AT_ONCE)):
                if queue.deleted:
                    storage.forget(some)
                else:
                    queue.account.add(cost_of(some))
                    queue.take_up(some)
                yield None
            while _take_up_late(queue, storage):
                yield None
        finally:
            storage.loaded = True  # even after an error: loading again would add messages twice
            queue.let_time_go_on()


def _take_up_late(queue: Queue, storage: QueueStorage) -> bool:
    """Add some messages that were put meanwhile. Returns whether there are more."""
    some = storage.late[:_AT_ONCE]
    del storage.late[:_AT_ONCE]
    if some and not queue.deleted:
        queue.keep_in_storage(storage, [entry for entry in some if entry.offset >= 0])
        queue.take_up(some)
    return bool(storage.late)


def _give_up(queue: Queue, storage: QueueStorage) -> None:
    """Loading has failed: leave the persistent messages in the log, so that the next use tries again."""
    late, storage.late = storage.late, []
    if not queue.deleted:
        queue.take_up(queue.leave_in_log(storage, late))
    queue.let_time_go_on()


class _Found:
    """The messages of one queue, to be brought into their order."""

    __slots__ = ("delayed", "runs")

    def __init__(self) -> None:
        self.runs: list[list[Entry]] = []
        """Lists, each in order of offset: copies of compaction may be behind later messages in the log."""
        self.delayed: list[tuple[int, int, Entry]] = []
        """A heap of delayed messages, by delivery time."""

    def add(self, entries: list[Entry]) -> None:
        """Add messages in the order of the log."""
        if delayed := [entry for entry in entries if entry.deliver_at]:
            for entry in delayed:
                heapq.heappush(self.delayed, (max(entry.deliver_at, entry.put_at), entry.offset, entry))
            entries = [entry for entry in entries if not entry.deliver_at]
        if not entries:
            return
        if self.runs and self.runs[-1][-1].offset < entries[0].offset:
            self.runs[-1] += entries
        else:
            self.runs.append(entries)

    def in_order(self) -> Iterator[Entry]:
        """All messages in the order in which they became visible."""
        delayed = self.delayed
        for entry in heapq.merge(*self.runs, key=_offset_of):
            while delayed and delayed[0][:2] < (entry.put_at, entry.offset):
                yield heapq.heappop(delayed)[2]
            yield entry
        while delayed:
            yield heapq.heappop(delayed)[2]


def _records(ledger: MessageLog, storages: Sequence[QueueStorage]) -> Iterator[Iterator[Record]]:
    """The records of messages in all parts of the log that these need, each once, some at a time."""
    safe = ledger.safe
    for start, end in _regions(storages):
        position, end = start, min(end, safe)
        while position < end:
            records = ledger.reader.read(position, _READ_AT_ONCE, end, gaps=True)
            if not records:
                break
            yield (one for record in records for one in records_in(record) if one.kind == log_kinds.MESSAGES)
            position = records[-1].end


def _regions(storages: Sequence[QueueStorage]) -> Iterator[tuple[int, int]]:
    """Where the messages lie, as parts of the log that do not overlap, in order."""
    chunks = sorted((chunk.start, chunk.end) for storage in storages for chunk in storage.cursor.chunks)
    if not chunks:
        return
    start, end = chunks[0]
    for next_start, next_end in chunks:
        if next_start > end:
            yield start, end
            start, end = next_start, next_end
        else:
            end = max(end, next_end)
    yield start, end


def _entries(
    queue: Queue, storage: QueueStorage, record: Record, messages: QueueMessages, first: int, *, in_memory: bool
) -> Generator[list[Entry], None, None]:
    """Entries for the messages of a record that are pending in a cursor, some at a time."""
    cursor = storage.cursor
    lo, hi = max(first, cursor.first), min(first + record.count, storage.shown)
    payloads = messages.all() if in_memory and lo < hi else repeat(None, messages.number)
    columns = payloads, messages.sizes, messages.priorities, messages.expires, messages.deliver_at, repeat(record.time)
    rows: Iterator[tuple[Any, ...]] = zip(*columns, range(first, first + record.count), strict=False)
    if hi - lo < record.count:
        rows = islice(rows, lo - first, max(lo, hi) - first)
    if cursor.acknowledged.count and cursor.acknowledged.within(lo, hi):
        rows = (row for row in rows if row[-1] not in cursor.acknowledged)
    entries = starmap(Entry, rows)
    while some := list(islice(entries, _AT_ONCE)):
        if storage.failed:
            for entry in some:
                entry.deliveries = storage.failed.get(entry.offset, 0)
        yield some


_offset_of = attrgetter("offset")
