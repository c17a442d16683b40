"""Blocks: many records of one partition at once, as they lie in the log, for those who read in bulk.

A block is some bytes of the log and the places in them where records with messages of the partition are. What a record
says of itself is not decoded here: whoever makes columns of messages does that for all records of a block at a time.
"""

import struct
from array import array
from collections.abc import Iterator
from typing import NamedTuple

from google_crc32c import value as crc_of

from heliograph.log import kinds
from heliograph.log.group import member_headers
from heliograph.log.messages import offset_for
from heliograph.log.record import ALIGNMENT, HEADER_SIZE, RECORD_HEADER, frame, read_record

BLOCK_SIZE = 1 << 20
"""About as many bytes of the log are in a block, unless a single record is larger."""
_RECEIVERS = struct.Struct("<I32xIQ")
"""How many receivers messages have; and the first of them, with its offset, if there is but one."""
_LEAST = HEADER_SIZE + _RECEIVERS.size
_FILL, _ALIGNED = ALIGNMENT - 1, -ALIGNMENT
_FIELDS = 5
_NO_CHECK_SUM = bytes(4)


class Place(NamedTuple):
    """Where the messages of one record are."""

    first: int
    """Offset of the first of them."""
    number: int
    time: int
    """When the server stored them, in milliseconds since 1970."""
    start: int
    """The body of the record lies from here in the block's data ..."""
    end: int
    """... up to here; its header is before it."""

    @property
    def next(self) -> int:
        """The offset behind the last message."""
        return self.first + self.number


class Block:
    """Records with consecutive messages of one partition, in order. The first one may have messages before them."""

    __slots__ = ("data", "fields", "used")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.fields = array("q")
        """All places one after the other: five numbers each, as Place names them. There can be very many."""
        self.used = 0
        """Bytes of the data that have been looked at: there is a part of a record behind them, or nothing."""

    def __len__(self) -> int:
        """How many records there are."""
        return len(self.fields) // _FIELDS

    def __iter__(self) -> Iterator[Place]:
        """Place by place."""
        numbers = iter(self.fields)
        return map(Place, numbers, numbers, numbers, numbers, numbers)

    @property
    def next(self) -> int:
        """The offset behind the last message of a block that is not empty."""
        return self.fields[-_FIELDS] + self.fields[1 - _FIELDS]

    def records(self) -> list[bytes]:
        """The records themselves, whole, as slices of the data that are as long as possible."""
        pieces: list[bytes] = []
        start = end = 0
        for place in self:
            header_at = place.start - HEADER_SIZE
            if self.data[header_at : header_at + 4] == _NO_CHECK_SUM:  # it is in a group, which has one for all
                pieces += (self._padded(start, end), self._alone(place))
                start = end = 0
                continue
            if header_at != end:
                pieces.append(self._padded(start, end))
                start = header_at
            end = (place.end + _FILL) & _ALIGNED
        pieces.append(self._padded(start, end))
        return pieces

    def _padded(self, start: int, end: int) -> bytes:
        piece = self.data[start:end]
        return piece + bytes(end - start - len(piece))  # the data may end within the filling

    def _alone(self, place: Place) -> bytes:
        """A record of a group with its own check sum."""
        _, _, kind, flags, _, epoch, _, offset, _ = RECORD_HEADER.unpack_from(self.data, place.start - HEADER_SIZE)
        body = self.data[place.start : place.end]
        return b"".join(frame(kind, (body,), offset, place.number, place.time, epoch, flags)[0])


def block_of(data: bytes, position: int, cursor: int, offset: int, stop: int) -> Block:
    """The records in some bytes of the log that have messages of a cursor, from an offset on and up to `stop`.

    The data starts with a record, which is at `position` of the log; BadRecord if it is none. It may end anywhere: what
    has not been looked at is for the next block. Only records that are wanted have to pass their check sum. Of two that
    have the same message (one is a copy) the first counts.
    """
    block = Block(data)
    add = block.fields.extend
    header, receivers, check, messages = RECORD_HEADER.unpack_from, _RECEIVERS.unpack_from, crc_of, kinds.MESSAGES
    at, size = 0, len(data)
    last_start = size - HEADER_SIZE
    while at <= last_start and offset < stop:
        crc, length, kind, _, zero, _, count, _, time = header(data, at)
        end = at + length
        if length < HEADER_SIZE or end > size or zero:
            break
        if kind == messages:
            if length >= _LEAST:
                n, only, first = receivers(data, at + HEADER_SIZE)
                if n != 1:
                    first = offset_for(data, cursor, at + HEADER_SIZE)
                elif only != cursor:
                    first = None
                if first is not None and first <= offset < first + count:
                    if check(data[at + 4 : end]) != crc:
                        break
                    add((first, count, time, at + HEADER_SIZE, end))
                    offset = first + count
        elif kind == kinds.GROUP:
            if check(data[at + 4 : end]) != crc:
                break
            offset = _add_members(block, at, end, position, cursor, offset, stop)
        at = (end + _FILL) & _ALIGNED
    if not at:
        read_record(data, 0, position)  # says what is wrong with it
    block.used = at
    return block


def _add_members(block: Block, start: int, end: int, position: int, cursor: int, offset: int, stop: int) -> int:
    """Add the records in a group, which starts at a place of the data; the offset to go on with."""
    data, body_at = block.data, start + HEADER_SIZE
    for at, (_, length, kind, _, _, _, count, _, time) in member_headers(data, body_at, end, position + body_at):
        first = offset_for(data, cursor, at + HEADER_SIZE) if kind == kinds.MESSAGES else None
        if offset < stop and first is not None and first <= offset < first + count:
            block.fields.extend((first, count, time, at + HEADER_SIZE, at + length))
            offset = first + count
    return offset
