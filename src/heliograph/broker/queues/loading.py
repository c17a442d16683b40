"""Getting to know the messages that are in the log: after a restart, when somebody first looks into a queue.

The messages of all queues lie mixed in the log. So whoever looks into one queue first has that part of the log gone
through, once, for all queues that nobody has looked into: to do it queue by queue would read the same again and again.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from heliograph.broker.queues.entry import Entry
from heliograph.broker.queues.shelf import Memory, Shelf
from heliograph.log import kinds
from heliograph.log.cursor import Chunk
from heliograph.log.group import records_in
from heliograph.log.ledger import Ledger
from heliograph.log.messages import receivers_of
from heliograph.log.queue_messages import QueueMessages, decode_queue_messages
from heliograph.log.record import Record

if TYPE_CHECKING:
    from heliograph.broker.queues.queue import Queue

_READ_AT_ONCE = 1 << 20


def load(ledger: Ledger, memory: Memory, queues: "Iterable[Queue]") -> "dict[Queue, list[Entry]]":
    """The messages of these queues that are in the log and safe, in order; a Problem if the log is damaged."""
    found: dict[Queue, list[Entry]] = {queue: [] for queue in queues}
    shelves = {queue.shelf.cursor.number: (queue, queue.shelf) for queue in found if queue.shelf is not None}
    chunks: dict[int, Chunk | None] = dict.fromkeys(shelves)
    """Where the messages that were found last lie: so do the next ones, as a rule."""
    room = memory.budget - memory.held
    for record in _records(ledger, [shelf for _, shelf in shelves.values()]):
        receivers = receivers_of(record.body)
        messages: QueueMessages | None = None
        for number, offset in zip(receivers.cursors, receivers.offsets, strict=True):
            if number not in shelves:
                continue
            queue, shelf = shelves[number]
            chunk = chunks[number]
            if chunk is None or not chunk.first <= offset < chunk.next:
                chunk = chunks[number] = shelf.cursor.chunk_of(offset)
            if chunk is None or not chunk.start <= record.position < chunk.end:
                continue  # done with, or another copy of it is the one that counts
            messages = messages or decode_queue_messages(record.body, record.count)
            entries = _entries(queue, shelf, record, messages, offset, in_memory=room > 0)
            if room > 0:
                room -= sum([entry.size for entry in entries])
            found[queue] += entries
    for entries in found.values():
        _sort(entries)
    memory.held = memory.budget - room
    return found


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
    sizes, priorities, expires = messages.sizes, messages.priorities, messages.expires
    deliver_at, message, when = messages.deliver_at, messages.message, record.time
    entries = []
    for offset in offsets:
        at = offset - first
        payload = message(at) if in_memory else None
        entries.append(Entry(queue, payload, sizes[at], priorities[at], expires[at], deliver_at[at], when, offset))
    for offset in shelf.failed.keys() & offsets if shelf.failed else ():
        entries[offsets.index(offset)].deliveries = shelf.failed[offset]
    return entries


def _sort(entries: list[Entry]) -> None:
    """Bring messages into the order that they had: copies may lie behind later ones, delayed ones came late."""
    entries.sort(key=lambda entry: entry.offset)
    if any(entry.deliver_at for entry in entries):
        entries.sort(key=lambda entry: max(entry.deliver_at, entry.put_at))
