"""Going through the records of one segment, block by block."""

import os
from collections.abc import Iterator

from google_crc32c import extend as extend_crc
from google_crc32c import value as crc_of

from heliograph.log.buffer_pool import BufferPool
from heliograph.log.record import ALIGNMENT, HEADER_SIZE, RECORD_HEADER, Record, read_record, record_room
from heliograph.log.segment import Segment

BLOCK = 1 << 20


def scan(descriptor: int, segment: Segment, position: int, stop: int, block: int = BLOCK) -> Iterator[Record]:
    """The records from `position` up to `stop`, starts of batches left out; BadRecord at the first that is none.

    A server that starts goes through millions of records here. So this is `read_record` once more in the form that
    takes the least time: no call per record, one slice for the check sum and one for the body. Records are handed out
    one by one, because thousands alive at a time would keep the garbage collector busy.
    """
    unpack, check, make, record, header = RECORD_HEADER.unpack_from, crc_of, tuple.__new__, Record, HEADER_SIZE
    body_at, fill, aligned = HEADER_SIZE - 4, ALIGNMENT - 1, -ALIGNMENT
    while position < stop:
        data = load(descriptor, segment.place(position), min(block, stop - position), stop - position)
        at, size = 0, len(data)
        last_start = size - header
        while at <= last_start:
            crc, length, kind, flags, zero, epoch, count, offset, time = unpack(data, at)
            end = at + length
            if length < header or end > size or zero:
                break
            if length < BLOCK:
                covered = data[at + 4 : end]
                if check(covered) != crc:
                    break
                body = covered[body_at:]
            else:  # may be hundreds of megabytes: one copy less is worth a second call
                body = data[at + header : end]
                if extend_crc(check(data[at + 4 : at + header]), body) != crc:
                    break
            if kind:
                yield make(record, (position + at, kind, body, offset, count, time, epoch, flags))
            at = (end + fill) & aligned
        if not at:
            read_record(data, 0, position)  # says what is wrong with it
        position += at


def load(descriptor: int, place: int, size: int, most: int) -> bytes:
    """So many bytes of the file from a record on, or more if that record is larger, but never more than `most`.

    Behind `most` may be what a server wrote before it stopped trusting the file.
    """
    data = os.pread(descriptor, size, place)
    room = record_room(data, 0)
    return data if room <= len(data) else os.pread(descriptor, min(room, most), place)


def load_into(room: BufferPool, descriptor: int, place: int, size: int, most: int) -> memoryview:
    """The same, in a room."""
    data = _filled(room, descriptor, place, size)
    record = record_room(data, 0)
    if record <= len(data):
        return data
    room.give_back(len(data))
    return _filled(room, descriptor, place, min(record, most))


def _filled(room: BufferPool, descriptor: int, place: int, size: int) -> memoryview:
    memory = room.take(size)
    return memory[: os.preadv(descriptor, [memory], place)]
