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
from dataclasses import dataclass

import google_crc32c

_HEADER = struct.Struct("<IIBBHIIQQ")
_AFTER_CRC = struct.Struct("<IBBHIIQQ")
_START = struct.Struct("<II")
HEADER_SIZE = _HEADER.size
ALIGNMENT = 8

BATCH = 0
"""The kind of record that starts a batch. A batch is written only when all before it is as safe as it will be."""
SYNCED = 1
"""Flag of a batch: everything before it had been forced to the disk."""


class BadRecord(Exception):
    """These bytes are no record: the reason why."""


@dataclass(frozen=True, slots=True)
class Record:
    """What one record says. `position` is where it starts, counted from the beginning of the log for all time."""

    position: int
    kind: int
    body: bytes
    offset: int = 0
    count: int = 0
    time: int = 0
    epoch: int = 0
    flags: int = 0

    @property
    def end(self) -> int:
        """Where the next record starts."""
        return self.position + padded(HEADER_SIZE + len(self.body))


def padded(length: int) -> int:
    """The room that so many bytes take."""
    return -(-length // ALIGNMENT) * ALIGNMENT


def frame(
    kind: int, body: bytes, *, offset: int = 0, count: int = 0, time: int = 0, epoch: int = 0, flags: int = 0
) -> list[bytes]:
    """A record as the pieces to write, one after the other; the body is not copied."""
    length = HEADER_SIZE + len(body)
    head = _AFTER_CRC.pack(length, kind, flags, 0, epoch, count, offset, time)
    crc = google_crc32c.extend(google_crc32c.value(head), body)
    pieces = [crc.to_bytes(4, "little") + head, body]
    if gap := padded(length) - length:
        pieces.append(bytes(gap))
    return pieces


def read_record(data: bytes | memoryview, at: int, position: int) -> Record:
    """The record that starts at `data[at]`, which is the log's `position`; BadRecord if it is not whole and right."""
    if len(data) - at < HEADER_SIZE:
        raise BadRecord(f"{len(data) - at} bytes are left, a header has {HEADER_SIZE}")
    crc, length, kind, flags, zero, epoch, count, offset, time = _HEADER.unpack_from(data, at)
    if length < HEADER_SIZE:
        raise BadRecord("there is nothing here" if not (crc or length) else f"the length is {length}")
    if length > len(data) - at:
        raise BadRecord(f"the length is {length}, but only {len(data) - at} bytes are left")
    if zero:
        raise BadRecord("reserved bytes are not zero")
    covered = bytes(data[at + 4 : at + length])
    found = google_crc32c.value(covered)
    if found != crc:
        raise BadRecord(f"the check sum is {found:08x}, but the record says {crc:08x}")
    return Record(position, kind, covered[HEADER_SIZE - 4 :], offset, count, time, epoch, flags)


def record_room(data: bytes | memoryview, at: int) -> int:
    """How far it is to the next record, as the header at `data[at]` has it; 0 if there cannot be a record."""
    if len(data) - at < HEADER_SIZE:
        return 0
    _, length = _START.unpack_from(data, at)
    return padded(length) if length >= HEADER_SIZE else 0
