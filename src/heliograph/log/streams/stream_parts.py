"""Records of a partition as parts of files, for a server that sends them on: only their headers are read.

So the kernel can copy them from file to socket (sendfile). The receiver verifies check sums. Members of a group have no
check sum of their own: they are read, and get one.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from heliograph.log import log_kinds
from heliograph.log.errors import BadRecord
from heliograph.log.messages import offset_for
from heliograph.log.record import ALIGNMENT, HEADER_SIZE, padded
from heliograph.log.streams.stream_block import FRONT, block_of

_WINDOW = 16 << 10
"""Bytes that are read at a time: many small records, or the front of a large one."""
_WORTH_SENDING = 64 << 10
"""Below this size, copying is faster than sendfile."""
_HEAD_SIZE, _RECEIVER_SIZE = 36, 14
"""Bytes of messages before the columns with their receivers, and of those for each receiver."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """Some bytes of an open file."""

    descriptor: int
    place: int
    size: int

    def __len__(self) -> int:
        return self.size


BodyPiece = FilePart | bytes | memoryview


class RawRecords(NamedTuple):
    """The records that a stretch of the log has of a partition."""

    pieces: Sequence[BodyPiece]
    next: int
    """The offset behind the last message."""
    seen: int
    """Bytes of the stretch."""


def raw_records(
    descriptor: int, place: int, end: int, position: int, cursor: int, offset: int, stop: int
) -> RawRecords:
    """The records of a cursor from an offset on and up to `stop`, between two places of a file.

    A record is at the first place, which is `position` of the log; BadRecord where there should be one and is not.
    """
    found = _Pieces(descriptor)
    start, window = place, _WINDOW
    while place < end and offset < stop:
        data = os.pread(descriptor, min(window, end - place), place)
        if not data:
            raise BadRecord(position + place - start, "the file ends here")
        at, window, size = 0, _WINDOW, len(data)
        while at < size and offset < stop:
            here = place + at
            if at + FRONT.size > size:
                if at and place + size < end:
                    break  # the next window has more of it
                data += bytes(FRONT.size)
            _, length, kind, zero, count, receivers, only, first = FRONT.unpack_from(data, at)
            if length < HEADER_SIZE or zero or here + length > end:
                raise BadRecord(
                    position + here - start, f"there is no record here: it says that its length is {length}"
                )
            if kind == log_kinds.MESSAGES:
                if receivers != 1:
                    front = HEADER_SIZE + _HEAD_SIZE + _RECEIVER_SIZE * receivers
                    if at + front > size and here + front <= end:
                        window = max(_WINDOW, front)
                        break
                    mine = offset_for(data, cursor, at + HEADER_SIZE)
                    only, first = (cursor, mine) if mine is not None else (-1, 0)
                if only == cursor and first <= offset < first + count:
                    found.add(here, min(padded(length), end - here), data, at)
                    offset = first + count
            elif kind == log_kinds.GROUP:
                block = block_of(os.pread(descriptor, length, here), position + here - start, cursor, offset, stop)
                found.add_bytes(block.records())
                offset = block.next
            at = padded(at + length)
        place += at
    return RawRecords(found.all(), offset, end - start)


class _Pieces:
    """Collects records: long stretches of them as parts of the file, others as bytes that were read anyway."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._pieces: list[BodyPiece] = []
        self._bytes: list[bytes | memoryview] = []
        """Bytes to send after all pieces."""
        self._start = self._end = -1
        """The run of records that lie one behind the other, in the file."""
        self._run: list[memoryview] = []
        """All of that run, as long as it is short."""
        self._is_long = False

    def add(self, place: int, size: int, data: bytes, at: int) -> None:
        """A record in the file; it is also in the data, as far as that goes."""
        if place != self._end:
            self._close()
            self._start = place
        self._end = place + size
        if not self._is_long:
            self._is_long = self._end - self._start >= _WORTH_SENDING or at + size > len(data)
            self._run.append(memoryview(data)[at : at + size])
        if missing := -size % ALIGNMENT:  # the file ends within the filling
            self.add_bytes([bytes(missing)])

    def add_bytes(self, pieces: Sequence[bytes | memoryview]) -> None:
        """Add bytes that are not in the file as they are."""
        self._close()
        self._bytes += pieces

    def all(self) -> list[BodyPiece]:
        """All of them."""
        self._close()
        self._settle()
        return self._pieces

    def _close(self) -> None:
        """End the run."""
        if self._is_long:
            self._settle()
            self._pieces.append(FilePart(self._descriptor, self._start, self._end - self._start))
        else:
            self._bytes += self._run
        self._start = self._end = -1
        self._run, self._is_long = [], False

    def _settle(self) -> None:
        if self._bytes:
            self._pieces.append(b"".join(self._bytes))
            self._bytes = []
