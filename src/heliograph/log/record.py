"""Records: the frame around everything in the log.

A record starts at a multiple of eight bytes and looks like this, little-endian:

    crc     4   CRC-32C of everything behind it, up to the end of the body
    length  4   bytes of header and body together
    kind    1   what the body is; 0 marks the start of a batch
    flags   1
    (zero)  2
    epoch   4   goes up whenever another server takes the log over
    count   4   messages in the body
    offset  8   number of the first of them
    time    8   milliseconds since 1970
    body        up to `length`, then zeros to the next multiple of eight
"""

import struct
from collections.abc import Sequence
from typing import NamedTuple

from google_crc32c import extend as extend_crc
from google_crc32c import value as crc_of

from heliograph.log.errors import BadRecord

RECORD_HEADER = struct.Struct("<IIBBHIIQQ")
_AFTER_CRC = struct.Struct("<IBBHIIQQ")
_CRC = struct.Struct("<I")
_START = struct.Struct("<II")
HEADER_SIZE = RECORD_HEADER.size
ALIGNMENT = 8
_FILLING = tuple(bytes(-length % ALIGNMENT) for length in range(ALIGNMENT))
"""What follows a record, by its length modulo the alignment."""
_WORTH_PIECES = 4096
"""Copying less than this is faster than handling pieces."""

BATCH = 0
"""The kind of record that starts a batch. A batch is written only after the one before it has been forced."""
SYNCED = 1
"""Flag of a batch: everything before it had been forced to the disk."""


class Record(NamedTuple):
    """What one record says. `position` is where it starts, counted from the beginning of the log for all time."""

    position: int
    kind: int
    body: bytes
    offset: int = 0
    count: int = 0  # type: ignore[assignment]  # hides tuple.count, which is of no use here
    time: int = 0
    epoch: int = 0
    flags: int = 0

    @property
    def end(self) -> int:
        """Where the next record starts."""
        return self.position + padded(HEADER_SIZE + len(self.body))


def padded(length: int) -> int:
    """The bytes that `length` bytes take with their padding."""
    return -(-length // ALIGNMENT) * ALIGNMENT


def frame(
    kind: int,
    body: Sequence[bytes],
    offset: int = 0,
    count: int = 0,
    time: int = 0,
    epoch: int = 0,
    flags: int = 0,
) -> tuple[tuple[bytes, ...], int]:
    """A record as the pieces to write one after the other, and their size together.

    The body may come in pieces itself; they are not copied unless they are small.
    """
    length = HEADER_SIZE
    for piece in body:
        length += len(piece)
    head = _AFTER_CRC.pack(length, kind, flags, 0, epoch, count, offset, time)
    filling = _FILLING[length % ALIGNMENT]
    if length < _WORTH_PIECES:
        covered = b"".join((head, *body))
        return (_CRC.pack(crc_of(covered)) + covered + filling,), length + len(filling)
    crc = crc_of(head)
    for piece in body:
        crc = extend_crc(crc, piece)
    return (_CRC.pack(crc), head, *body, filling), length + len(filling)


def read_record(data: bytes, at: int, position: int) -> Record:
    """The record that starts at `data[at]`, which is the log's `position`; BadRecord if it is not whole and right."""
    if len(data) - at < HEADER_SIZE:
        raise BadRecord(position, f"{len(data) - at} bytes are left, a header has {HEADER_SIZE}")
    crc, length, kind, flags, zero, epoch, count, offset, time = RECORD_HEADER.unpack_from(data, at)
    if length < HEADER_SIZE:
        raise BadRecord(position, "there is nothing here" if not (crc or length) else f"the length is {length}")
    if length > len(data) - at:
        raise BadRecord(position, f"the length is {length}, but only {len(data) - at} bytes are left")
    if zero:
        raise BadRecord(position, "reserved bytes are not zero")
    covered = data[at + 4 : at + length]
    found = crc_of(covered)
    if found != crc:
        raise BadRecord(position, f"the check sum is {found:08x}, but the record says {crc:08x}")
    return Record(position, kind, covered[HEADER_SIZE - 4 :], offset, count, time, epoch, flags)


def record_room(data: bytes | memoryview, at: int) -> int:
    """How far it is to the next record, as the header at `data[at]` has it; 0 if there cannot be a record."""
    if len(data) - at < HEADER_SIZE:
        return 0
    _, length = _START.unpack_from(data, at)
    return padded(length) if length >= HEADER_SIZE else 0
