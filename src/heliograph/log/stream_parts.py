"""Records of a partition as parts of files, for those who pass them on: only what says whom they are for is read.

Whoever gets them finds out whether they are whole, by their check sums. Records in a group have none of their own: they
are read, and get one.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from heliograph.log import kinds
from heliograph.log.messages import offset_for
from heliograph.log.record import HEADER_SIZE, BadRecord, padded
from heliograph.log.stream_block import FRONT, block_of

_WINDOW = 16 << 10
"""Bytes that are read at a time: all of many small records, and of a large one the front."""
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


Piece = FilePart | bytes | memoryview


class Passage(NamedTuple):
    """What a stretch of the log has of a partition."""

    pieces: Sequence[Piece]
    next: int
    """The offset behind the last message."""
    seen: int
    """Bytes of the stretch."""


def passage_of(descriptor: int, place: int, end: int, position: int, cursor: int, offset: int, stop: int) -> Passage:
    """The records of a cursor from an offset on and up to `stop`, between two places of a file.

    A record is at the first place, which is `position` of the log; BadRecord where there should be one and is not.
    """
    pieces: list[Piece] = []
    start, window = place, _WINDOW
    while place < end and offset < stop:
        data = os.pread(descriptor, min(window, end - place), place)
        at, window, size = 0, _WINDOW, len(data)
        while at < size and offset < stop:
            here = place + at
            if at + FRONT.size > size:
                if end - here >= FRONT.size and at:
                    break  # the next window has all of it
                data += bytes(FRONT.size)
            _, length, kind, zero, count, receivers, only, first = FRONT.unpack_from(data, at)
            if length < HEADER_SIZE or zero or here + length > end:
                raise BadRecord(
                    position + here - start, f"there is no record here: it says that its length is {length}"
                )
            if kind == kinds.MESSAGES:
                if receivers != 1:
                    window = HEADER_SIZE + _HEAD_SIZE + _RECEIVER_SIZE * receivers
                    if at + window > size and here + window <= end:
                        break
                    found = offset_for(data, cursor, at + HEADER_SIZE)
                    only, first = (cursor, found) if found is not None else (-1, 0)
                if only == cursor and first <= offset < first + count:
                    _add(pieces, descriptor, here, length, end)
                    offset = first + count
            elif kind == kinds.GROUP:
                block = block_of(os.pread(descriptor, length, here), position + here - start, cursor, offset, stop)
                pieces += block.records()
                offset = block.next
            at = padded(at + length)
        place += at
    return Passage(pieces, offset, end - start)


def _add(pieces: list[Piece], descriptor: int, place: int, length: int, end: int) -> None:
    """Add a record, to the one before it if they lie one behind the other."""
    size = min(padded(length), end - place)
    last = pieces[-1] if pieces else None
    if isinstance(last, FilePart) and last.place + last.size == place:
        pieces[-1] = FilePart(descriptor, last.place, last.size + size)
    else:
        pieces.append(FilePart(descriptor, place, size))
    if size < padded(length):
        pieces.append(bytes(padded(length) - size))
