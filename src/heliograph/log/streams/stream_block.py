"""Blocks: many records of one partition at once, as they lie in the log, for bulk readers.

A block is a piece of the log and the places of the partition's records in it. Records are not decoded here: readers
that make columns of messages do that for all records of a block at once.
"""

import struct
from array import array
from collections.abc import Iterator
from typing import NamedTuple

from google_crc32c import extend as extend_crc
from google_crc32c import value as crc_of

from heliograph.log import log_kinds
from heliograph.log.group import member_headers
from heliograph.log.messages import offset_for
from heliograph.log.record import ALIGNMENT, HEADER_SIZE, RECORD_HEADER, frame, read_record

BLOCK_SIZE = 1 << 20
"""About as many bytes of the log are in a block, unless a single record is larger."""
FRONT = struct.Struct("<IIBxH4xI16x I32xIQ")
"""Header and start of the body in one call: check sum, length, kind, zero, count; then the number of receivers, and the
first receiver with its offset."""
_FILL, _ALIGNED = ALIGNMENT - 1, -ALIGNMENT
_CRC_AND_LENGTH = struct.Struct("<II")
"""How a record starts. The check sum of those in a group is 0."""
_AT_ONCE = 64 << 10
"""Bytes of a memoryview that are summed at a time.

They have to be copied, and the copy should stay in the CPU cache.
"""


BlockData = bytes | memoryview


class RecordPlace(NamedTuple):
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


class StreamBlock:
    """Records with consecutive messages of one partition, in order. The first one may have messages before them."""

    __slots__ = ("data", "firsts", "next", "starts", "used")

    def __init__(self, data: BlockData) -> None:
        self.data = data
        self.starts = array("q")
        """Where each record starts in the data: its header, then its body."""
        self.firsts = array("q")
        """The offset of each record's first message."""
        self.next = 0
        """The offset behind the last message."""
        self.used = 0
        """Bytes of the data that were scanned: behind them is an incomplete record, or nothing."""

    def __len__(self) -> int:
        """How many records there are."""
        return len(self.starts)

    def __iter__(self) -> Iterator[RecordPlace]:
        """The place of each record."""
        for start, first in zip(self.starts, self.firsts, strict=True):
            _, length, _, _, _, _, count, _, time = RECORD_HEADER.unpack_from(self.data, start)
            yield RecordPlace(first, count, time, start + HEADER_SIZE, start + length)

    def records(self) -> list[memoryview]:
        """The records as parts of the data, each as long as possible; only records of groups are copied."""
        pieces: list[memoryview] = []
        data, unpack, fill, aligned = self.data, _CRC_AND_LENGTH.unpack_from, _FILL, _ALIGNED
        start = end = 0
        for at in self.starts:
            crc, length = unpack(data, at)
            if not crc:  # a member of a group, which has one check sum for all
                pieces += (*self._padded(start, end), memoryview(self._alone(at)))
                start = end = 0
                continue
            if at != end:
                pieces += self._padded(start, end)
                start = at
            end = (at + length + fill) & aligned
        return pieces + self._padded(start, end)

    def _padded(self, start: int, end: int) -> list[memoryview]:
        if start == end:
            return []
        missing = end - len(self.data)  # the data may end within the padding
        piece = memoryview(self.data)[start:end]
        return [piece] if missing <= 0 else [piece, memoryview(bytes(missing))]

    def _alone(self, at: int) -> bytes:
        """A record of a group with its own check sum."""
        _, length, kind, flags, _, epoch, count, offset, time = RECORD_HEADER.unpack_from(self.data, at)
        body = bytes(self.data[at + HEADER_SIZE : at + length])
        return b"".join(frame(kind, (body,), offset, count, time, epoch, flags)[0])


def block_of(data: BlockData, position: int, cursor: int, offset: int, stop: int) -> StreamBlock:
    """The records in some bytes of the log that have messages of a cursor, from an offset on and up to `stop`.

    The data starts with a record, which is at `position` of the log; BadRecord otherwise. It may end anywhere: `used`
    tells what was scanned. Check sums are verified for matching records only. Of two records with the same message (one
    is a copy) the first counts.

    There may be as many records as messages, hence one `unpack` for everything about a record, and no object per
    record.
    """
    block = StreamBlock(data)
    add_start, add_first = block.starts.append, block.firsts.append
    unpack, header, messages, group = FRONT.unpack_from, HEADER_SIZE, log_kinds.MESSAGES, log_kinds.GROUP
    fill, aligned = _FILL, _ALIGNED
    at, size = 0, len(data)
    last_whole, last_start = size - FRONT.size, size - header
    while offset < stop:
        if at <= last_whole:
            crc, length, kind, zero, count, n, only, first = unpack(data, at)
        elif at <= last_start:
            crc, length, kind, zero, count, n, only, first = unpack(bytes(data[at:]) + bytes(FRONT.size))
        else:
            break
        end = at + length
        if length < header or end > size or zero:
            break
        if kind == messages:
            if n != 1:
                found = offset_for(data, cursor, at + header)
                only, first = (cursor, found) if found is not None else (-1, 0)
            if only == cursor and first <= offset < first + count:
                if _check_sum(data, at + 4, end) != crc:
                    break
                add_start(at)
                add_first(first)
                offset = first + count
        elif kind == group:
            if _check_sum(data, at + 4, end) != crc:
                break
            offset = _add_members(block, at, end, position, cursor, offset, stop)
        at = (end + fill) & aligned
    if not at:
        read_record(bytes(data), 0, position)  # says what is wrong with it
    block.used, block.next = at, offset
    return block


def _check_sum(data: BlockData, start: int, end: int) -> int:
    """That of a part of the data."""
    if not isinstance(data, memoryview):
        return int(crc_of(data[start:end]))
    crc: int = crc_of(bytes(data[start : min(start + _AT_ONCE, end)]))
    for at in range(start + _AT_ONCE, end, _AT_ONCE):
        crc = extend_crc(crc, bytes(data[at : min(at + _AT_ONCE, end)]))
    return crc


def _add_members(block: StreamBlock, start: int, end: int, position: int, cursor: int, offset: int, stop: int) -> int:
    """Add the records in a group, which starts at a place of the data; the offset to go on with."""
    data, body_at = block.data, start + HEADER_SIZE
    for at, (_, _, kind, _, _, _, count, _, _) in member_headers(data, body_at, end, position + body_at):
        first = offset_for(data, cursor, at + HEADER_SIZE) if kind == log_kinds.MESSAGES else None
        if offset < stop and first is not None and first <= offset < first + count:
            block.starts.append(at)
            block.firsts.append(first)
            offset = first + count
    return offset
