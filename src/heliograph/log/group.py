"""Groups: several records in one. After a crash all of them are there, or none.

The body of a group is four zeros, so that what follows starts at a multiple of eight bytes, and then records as the log
has them anywhere else, but with a check sum of 0: that of the group covers all of them.

A record in a group has a position of its own. But the log is read from where a group starts: this is what cursors know
of messages in it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from heliograph.log import log_kinds
from heliograph.log.cursor import Cursor
from heliograph.log.errors import MalformedRecord
from heliograph.log.record import ALIGNMENT, HEADER_SIZE, RECORD_HEADER, Record, padded

_FRONT = bytes(-HEADER_SIZE % ALIGNMENT)


def records_in(record: Record) -> Iterable[Record]:
    """The records of a group; any other record by itself."""
    return _members(record) if record.kind == log_kinds.GROUP else (record,)


def _members(group: Record) -> Iterator[Record]:
    body, first = group.body, group.position + HEADER_SIZE
    for at, header in member_headers(body, 0, len(body), first):
        _, length, kind, flags, _, epoch, count, offset, time = header
        yield Record(first + at, kind, body[at + HEADER_SIZE : at + length], offset, count, time, epoch, flags)


def member_headers(
    data: bytes | memoryview, start: int, end: int, position: int
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Where each record in a group starts, and what its header says.

    The group's body is the data from `start` to `end`, and lies at `position` of the log.
    """
    at = start + len(_FRONT)
    while at < end:
        header: tuple[int, ...] = RECORD_HEADER.unpack_from(data, at) if end - at >= HEADER_SIZE else (0, 0)
        length = header[1]
        if not HEADER_SIZE <= length <= end - at:
            group, place = position - HEADER_SIZE, position + at - start
            raise MalformedRecord(f"position {group}: a group in which there is no record at position {place}")
        yield at, header
        at += padded(length)


@dataclass(slots=True)
class _Stored:
    """Messages that are in a group: for whom, how many, and the size of their record."""

    cursors: Sequence[Cursor]
    count: int
    size: int


@dataclass(slots=True)
class RecordGroup:
    """Records that gather for one write, and the changes of cursors that are applied when it is written."""

    time: int
    """Of all of them, in milliseconds since 1970."""
    epoch: int
    pieces: list[bytes] = field(default_factory=lambda: [_FRONT])
    count: int = 0
    """Messages in it."""
    stored: list[_Stored] = field(default_factory=list)
    acks: list[tuple[Cursor, int, int]] = field(default_factory=list)
    _next: dict[Cursor, int] = field(default_factory=dict)
    """Offsets that cursors will go on with."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to be written."""
        return len(self.pieces) == 1

    @property
    def receivers(self) -> Iterator[Cursor]:
        """The cursors that messages in it are for."""
        return (cursor for stored in self.stored for cursor in stored.cursors)

    def add(self, kind: int, body: Sequence[bytes], count: int = 0) -> int:
        """Put a record into the group and return its size."""
        length = HEADER_SIZE + sum(map(len, body))
        size = padded(length)
        self.pieces.append(RECORD_HEADER.pack(0, length, kind, 0, 0, self.epoch, count, 0, self.time))
        self.pieces += body
        self.pieces.append(bytes(size - length))
        return size

    def add_messages(self, cursors: Sequence[Cursor], body: Sequence[bytes], count: int) -> None:
        """Put messages into the group; their offsets are those that `offsets` returned before."""
        self.stored.append(_Stored(cursors, count, self.add(log_kinds.MESSAGES, body, count)))
        self.count += count
        for cursor in cursors:
            self._next[cursor] = self._next.get(cursor, cursor.next) + count

    def offsets(self, cursors: Sequence[Cursor]) -> list[int]:
        """The offsets that the next message gets."""
        return [self._next.get(cursor, cursor.next) for cursor in cursors]

    def apply_to_cursors(self, start: int, end: int) -> None:
        """Change the cursors: the group has been written between these positions."""
        for stored in self.stored:
            for cursor in stored.cursors:
                cursor.add(stored.count, start, end, self.time, stored.size)
        for cursor, lo, hi in self.acks:
            cursor.acknowledge(lo, hi)
