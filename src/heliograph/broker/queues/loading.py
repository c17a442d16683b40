"""Getting to know the messages that are in the log: after a restart, when somebody first looks into a queue.

The messages of all queues lie mixed in the log. So whoever looks into one queue first has that part of the log gone
through, once, for all queues that nobody has looked into: to do it queue by queue would read the same again and again.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat, starmap
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from heliograph.broker.queues.entry import Entry
from heliograph.broker.queues.shelf import Memory, Shelf
from heliograph.log import kinds
from heliograph.log.cursor import Chunk
from heliograph.log.group import records_in
from heliograph.log.ledger import Ledger
from heliograph.log.messages import receivers_of
from heliograph.log.queue_messages import QueueMessages, decode_queue_messages, message_alone
from heliograph.log.record import Record

if TYPE_CHECKING:
    from heliograph.broker.queues.queue import Queue

_READ_AT_ONCE = 1 << 20


def load(ledger: Ledger, memory: Memory, queues: "Iterable[Queue]") -> "dict[Queue, list[Entry]]":
    """The messages of these queues that are in the log and safe, in order; a Problem if the log is damaged."""
    loading = _Loading(memory.budget - memory.held, queues)
    for record in _records(ledger, [shelf for _, shelf in loading.shelves.values()]):
        # There may be as many records as messages, and then this is what counts.
        alone = message_alone(record.body) if record.count == 1 else None
        if alone is not None:
            loading.take_alone(record, *alone)
        else:
            loading.take(record)
    for entries in loading.found.values():
        _sort(entries)
    memory.add(memory.budget - memory.held - loading.room)
    return loading.found


class _Loading:
    """What has been found so far."""

    def __init__(self, room: int, queues: "Iterable[Queue]") -> None:
        self.room = room
        """Bytes of payloads that may stay in memory."""
        self.found: dict[Queue, list[Entry]] = {queue: [] for queue in queues}
        self.shelves: dict[int, tuple[Queue, Shelf]] = {}
        """By the number of the cursor."""
        for queue in self.found:
            if queue.shelf is not None:
                self.shelves[queue.shelf.cursor.number] = queue, queue.shelf
        self._chunks: dict[int, Chunk | None] = dict.fromkeys(self.shelves)
        """Where the messages that were found last lie: so do the next ones, as a rule."""

    def _counts(self, record: Record, number: int, offset: int) -> bool:
        """Whether a record is where messages of a cursor are: they may be done with, or copied to another place."""
        if number not in self._chunks:
            return False
        chunk = self._chunks[number]
        if chunk is None or not chunk.first <= offset < chunk.next:
            chunk = self._chunks[number] = self.shelves[number][1].cursor.chunk_of(offset)
        return chunk is not None and chunk.start <= record.position < chunk.end

    def take_alone(self, record: Record, number: int, offset: int, size: int, priority: int, start: int) -> None:
        """A record of one message for one cursor."""
        if not self._counts(record, number, offset):
            return
        queue, shelf = self.shelves[number]
        if offset >= shelf.shown or not shelf.cursor.is_pending(offset):
            return
        payload = None
        if self.room > 0:
            payload = record.body[start : start + size]
            self.room -= size
        entry = Entry(queue, payload, size, priority, 0, 0, record.time, offset)
        if shelf.failed:
            entry.deliveries = shelf.failed.get(offset, 0)
        self.found[queue].append(entry)

    def take(self, record: Record) -> None:
        """Any record of messages."""
        receivers = receivers_of(record.body)
        messages: QueueMessages | None = None
        for number, offset in zip(receivers.cursors, receivers.offsets, strict=True):
            if self._counts(record, number, offset):
                queue, shelf = self.shelves[number]
                messages = messages or decode_queue_messages(record.body, record.count)
                entries = _entries(queue, shelf, record, messages, offset, in_memory=self.room > 0)
                if self.room > 0:
                    self.room -= sum([entry.size for entry in entries])
                self.found[queue] += entries


def _records(ledger: Ledger, shelves: Sequence[Shelf]) -> Iterator[Record]:
    """The records of messages in all parts of the log that these need, each once."""
    safe = ledger.safe
    for start, end in _regions(shelves):
        position, end = start, min(end, safe)
        while position < end:
            records = ledger.reader.read(position, _READ_AT_ONCE, end, gaps=True)
            if not records:
                break
            for record in records:
                for one in records_in(record):
                    if one.kind == kinds.MESSAGES:
                        yield one
            position = records[-1].end


def _regions(shelves: Sequence[Shelf]) -> Iterator[tuple[int, int]]:
    """Where the messages lie, as parts of the log that do not overlap, in order."""
    chunks = sorted((chunk.start, chunk.end) for shelf in shelves for chunk in shelf.cursor.chunks)
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
    queue: "Queue", shelf: Shelf, record: Record, messages: QueueMessages, first: int, *, in_memory: bool
) -> list[Entry]:
    """Entries for the messages of a record that are pending in a cursor."""
    cursor = shelf.cursor
    lo, hi = max(first, cursor.first), min(first + record.count, shelf.shown)
    if lo >= hi:
        return []
    offsets: Sequence[int] = range(lo, hi)
    if cursor.acknowledged.count and cursor.acknowledged.within(lo, hi):
        offsets = [offset for offset in offsets if offset not in cursor.acknowledged]
    payloads = messages.all() if in_memory else repeat(None, messages.number)
    columns = payloads, messages.sizes, messages.priorities, messages.expires, messages.deliver_at, repeat(record.time)
    rows: Iterable[tuple[Any, ...]] = zip(repeat(queue), *columns, range(first, first + record.count), strict=False)
    if len(offsets) < record.count:
        wanted = set(offsets)
        rows = (row for row in rows if row[-1] in wanted)
    entries = list(starmap(Entry, rows))
    for offset in shelf.failed.keys() & offsets if shelf.failed else ():
        entries[offsets.index(offset)].deliveries = shelf.failed[offset]
    return entries


def _sort(entries: list[Entry]) -> None:
    """Bring messages into the order that they had: copies may lie behind later ones, delayed ones came late."""
    entries.sort(key=attrgetter("offset"))
    if any(map(attrgetter("deliver_at"), entries)):
        entries.sort(key=lambda entry: max(entry.deliver_at, entry.put_at))
