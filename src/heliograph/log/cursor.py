"""A cursor: which messages of the log belong to one reader, and which of them it has acknowledged.

Theory of operation
1. A cursor numbers its messages 0, 1, 2 ... as they come; a record of messages says which numbers they have for which
   cursors. Such a number is a message's *offset* in that cursor, and never changes.
2. `first` is the oldest offset that is not acknowledged, `next` the one that the next message gets; `acknowledged`
   holds what is acknowledged between the two, as ranges.
3. *Chunks* tell where the messages are: some consecutive offsets lie between two positions of the log, at most a
   quarter of a megabyte apart, mixed with messages for other cursors. To find one of them, that part of the log is
   read. So a cursor takes a hundred bytes of memory per chunk, however many messages there are.
4. A chunk is dropped when all of its messages are acknowledged. A segment without chunks can be deleted.

Invariants: chunks are sorted by offset and do not overlap. Every pending message is in a chunk. `acknowledged` has only
offsets between `first` and `next`, and never `first` itself.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterator

from heliograph.log.ranges import Ranges

CHUNK_SIZE = 256 << 10

_HEAD = struct.Struct("<IIQQI")
_RANGE = struct.Struct("<QQ")
_CHUNK = struct.Struct("<QIQQQQ")


class Chunk:
    """Offsets `first` to `next` lie between positions `start` and `end`, in `size` bytes of records."""

    __slots__ = ("end", "first", "next", "size", "start", "time")

    def __init__(self, first: int, next_: int, start: int, end: int, size: int, time: int) -> None:
        self.first = first
        self.next = next_
        self.start = start
        self.end = end
        self.size = size
        self.time = time
        """When the newest of them was stored, in milliseconds since 1970."""


_NO_CHUNKS: list[Chunk] = ()  # type: ignore[assignment]  # a tuple, as all cursors share it
"""Most cursors have nothing pending: sharing one empty sequence saves a list for each of them."""


class Cursor:
    """The messages of one reader, pending and acknowledged.

    Only the message log changes it, and records every change.
    """

    __slots__ = ("acknowledged", "bytes", "chunks", "first", "moves", "next", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.first = 0
        self.next = 0
        self.acknowledged = Ranges()
        """Acknowledged offsets beyond `first`."""
        self.chunks = _NO_CHUNKS
        self.bytes = 0
        """Size of the records with its messages. Those of a chunk count until the whole chunk is acknowledged."""
        self.moves = 0
        """Counts calls of `move`: the index of a stream, which has a copy of the chunks, is written anew then."""

    @property
    def pending(self) -> int:
        """Messages not yet acknowledged."""
        return self.next - self.first - self.acknowledged.count

    def is_pending(self, offset: int) -> bool:
        """Whether this message exists and is not acknowledged."""
        return self.first <= offset < self.next and offset not in self.acknowledged

    def pending_ranges(self) -> Iterator[tuple[int, int]]:
        """All that is pending, as ranges."""
        lo = self.first
        for start, end in self.acknowledged:
            yield lo, start
            lo = end
        if lo < self.next:
            yield lo, self.next

    def add(self, count: int, start: int, end: int, time: int, size: int) -> None:
        """Add `count` messages, which lie in the record from `start` to `end` and take `size` bytes of it.

        That is the whole record, unless it is a group.
        """
        first = self.next
        self.next = first + count
        self.bytes += size
        if self.chunks:
            # The last chunk is extended while it stays short enough to be read at once.
            last = self.chunks[-1]
            # Messages in the same group of records are read together anyway, whatever the size.
            if last.next == first and (end == last.end or (start >= last.end and end - last.start <= CHUNK_SIZE)):
                last.next = self.next
                last.end = end
                last.size += size
                last.time = time
                return
            self.chunks.append(Chunk(first, self.next, start, end, size, time))
        else:
            self.chunks = [Chunk(first, self.next, start, end, size, time)]

    def acknowledge(self, lo: int, hi: int) -> None:
        """Acknowledge offsets `lo` up to `hi`; those acknowledged before stay so."""
        lo, hi = max(lo, self.first), min(hi, self.next)
        if lo >= hi:
            return
        if lo == self.first and not self.acknowledged.count:  # fast path: acknowledged in order
            self.first = hi
        else:
            self.acknowledged.add(lo, hi)
            self.first = self.acknowledged.end_of(self.first)
            self.acknowledged.remove(0, self.first)
        # Chunks are dropped from the front in one go: deleting them one by one would be quadratic.
        chunks = self.chunks
        if chunks and chunks[0].next <= self.first:
            gone = 1
            while gone < len(chunks) and chunks[gone].next <= self.first:
                gone += 1
            self.bytes -= sum(chunk.size for chunk in chunks[:gone])
            if gone < len(chunks):
                del chunks[:gone]
            else:
                self.chunks = _NO_CHUNKS
        if self.acknowledged.count:
            self._drop_acknowledged_chunks(lo, hi)

    def _drop_acknowledged_chunks(self, lo: int, hi: int) -> None:
        """Drop chunks in the middle that are acknowledged as a whole, after `lo` up to `hi` have been."""
        at = self._index(lo)
        while 0 <= at < len(self.chunks) and self.chunks[at].first < hi:
            chunk = self.chunks[at]
            if self.acknowledged.end_of(chunk.first) >= chunk.next:
                self.bytes -= chunk.size
                del self.chunks[at]
            else:
                at += 1

    def pending_within(self, lo: int, hi: int) -> int:
        """How many of the stored messages from `lo` up to `hi` are not acknowledged."""
        lo = max(lo, self.first)
        return max(0, hi - lo) - self.acknowledged.within(lo, hi)

    def pending_ranges_within(self, lo: int, hi: int) -> Iterator[tuple[int, int]]:
        """The pending messages from `lo` up to `hi`, as ranges."""
        return self.acknowledged.gaps(max(lo, self.first), min(hi, self.next))

    def _index(self, offset: int) -> int:
        return max(0, bisect_right(self.chunks, offset, key=_first_of) - 1)

    def chunk_of(self, offset: int) -> Chunk | None:
        """The chunk of a pending message; None if the message does not exist yet, or its chunk was dropped."""
        if not self.chunks:
            return None
        chunk = self.chunks[self._index(offset)]
        return chunk if chunk.first <= offset < chunk.next else None

    def move(self, lo: int, hi: int, gone: tuple[int, int], start: int, end: int, size: int) -> None:
        """Note that offsets `lo` to `hi`, which were between the positions `gone`, are now in `start` to `end`.

        `size` is the bytes of their records; 0 if there are no copies, because all of them are acknowledged.
        """
        self.moves += 1
        moved = Chunk(lo, hi, start, end, size, 0)
        kept: list[Chunk] = [moved] if size else []
        for chunk in self.chunks:
            if chunk.next <= lo or chunk.first >= hi:
                kept.append(chunk)
                continue
            moved.time = max(moved.time, chunk.time)
            half = chunk.size // 2  # an estimate, as the sizes of the single records are not known
            if chunk.first < lo:
                kept.append(Chunk(chunk.first, lo, chunk.start, min(chunk.end, gone[0]), half, chunk.time))
            if chunk.next > hi:
                kept.append(Chunk(hi, chunk.next, max(chunk.start, gone[1]), chunk.end, half, chunk.time))
        kept.sort(key=_first_of)
        # A part of a split chunk may have no pending message, and messages may be acknowledged while they are copied.
        self.chunks = [chunk for chunk in kept if self.pending_within(chunk.first, chunk.next)]
        self.bytes = sum(chunk.size for chunk in self.chunks)

    def encode(self) -> bytes:
        """The state of the cursor, for a checkpoint."""
        parts = [_HEAD.pack(self.number, len(self.acknowledged), self.first, self.next, len(self.chunks))]
        parts += [_RANGE.pack(lo, hi) for lo, hi in self.acknowledged]
        parts += [_CHUNK.pack(c.first, c.next - c.first, c.start, c.end, c.size, c.time) for c in self.chunks]
        return b"".join(parts)


def decode_cursor(body: bytes) -> Cursor:
    """A cursor from what `Cursor.encode` made."""
    number, ranges, first, next_, chunks = _HEAD.unpack_from(body)
    cursor = Cursor(number)
    cursor.first, cursor.next = first, next_
    if ranges:
        cursor.acknowledged = Ranges(_RANGE.iter_unpack(body[_HEAD.size : _HEAD.size + ranges * _RANGE.size]))
    if chunks:
        at = _HEAD.size + ranges * _RANGE.size
        found = _CHUNK.iter_unpack(body[at : at + chunks * _CHUNK.size])
        cursor.chunks = [Chunk(first, first + count, *places) for first, count, *places in found]
        cursor.bytes = sum(chunk.size for chunk in cursor.chunks)
    return cursor


def _first_of(chunk: Chunk) -> int:
    return chunk.first
