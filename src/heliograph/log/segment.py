"""Segments: the files that the log is cut into.

A segment's name is the position of its first record, so the segment of any position is found by name. A header of 48
bytes comes first and does not count as part of the log:

    magic     8   HELIOLOG
    version   2   of the format, 2; in version 1, all messages of a record have one topic
    (zero)    2
    epoch     4   of the server that made the segment
    base      8   position of the first record
    replay    8   position from which a server that starts has to read; its own base in the first segment of a log
    previous  8   base of the segment before it; its own in the first one
    (zero)    4
    crc       4   CRC-32C of all before it

Theory of operation
1. A segment ends where the segment begins that was made after it (`previous` says which that is). There may be bytes
   behind that end: a server that could not trust a file any more has gone on in a new one, and what is behind was
   never acknowledged. When the segment behind it has been deleted, it ends where its file ends.
2. The newest segment is the one with the largest base. Its `replay` is where a server begins to read.
3. A segment gets its name only when its header is on the disk, so every file with such a name has a whole header.
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import google_crc32c
from google_crc32c import extend as extend_crc
from google_crc32c import value as crc_of

from heliograph.log.buffer_pool import BufferPool
from heliograph.log.errors import BadRecord, BadSegment, LogDamaged
from heliograph.log.record import ALIGNMENT, HEADER_SIZE, RECORD_HEADER, Record, read_record, record_room

MAGIC = b"HELIOLOG"
FORMAT_VERSION = 2
"""Format of the segments that this program makes."""
_OLDEST_VERSION = 1
"""Segments of older formats are read, but never appended to: older programs would not understand the new records."""
_HEADER = struct.Struct("<8sHHIQQQI")
_CRC_SIZE = 4
SEGMENT_HEADER_SIZE = _HEADER.size + _CRC_SIZE
_SUFFIX = ".log"
_UNNAMED = "segment.new"
"""The file of a segment that is being made."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of the log."""

    path: Path
    base: int
    """Position of the first record."""
    epoch: int
    replay: int
    """Position from which a server that starts has to read, as known when the segment was made."""
    previous: int
    """Base of the segment that was the newest one before; its own base in the first segment of a log."""
    version: int = FORMAT_VERSION

    def place(self, position: int) -> int:
        """The place in the file of a position of the log."""
        return position - self.base + SEGMENT_HEADER_SIZE

    def damaged(self, bad: BadRecord) -> LogDamaged:
        """What to raise because a record of this segment is not what it was."""
        place = self.place(bad.position)
        return LogDamaged(f"{self.path}: damaged at byte {place} (position {bad.position}): {bad}", bad.position)

    def file_end(self) -> int:
        """The position of the end of the file, whether records reach up to there or not."""
        return self.base + self.path.stat().st_size - SEGMENT_HEADER_SIZE


def segment_path(directory: Path, base: int) -> Path:
    """The file of the segment that starts at this position."""
    return directory / f"{base:020d}{_SUFFIX}"


def create_segment(
    directory: Path, base: int, *, epoch: int, replay: int | None = None, previous: int | None = None
) -> tuple[Segment, int]:
    """Make a segment, force it and its name to the disk, and return it with a descriptor for writing.

    It gets its name only when its header is on the disk, so a segment always has a whole header. A file of that name
    is replaced: it never had a record that counts.
    """
    replay = base if replay is None else replay
    previous = base if previous is None else previous
    head = _HEADER.pack(MAGIC, FORMAT_VERSION, 0, epoch, base, replay, previous, 0)
    head += google_crc32c.value(head).to_bytes(4, "little")
    path, unnamed = segment_path(directory, base), directory / _UNNAMED
    descriptor = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, head)
        os.fsync(descriptor)
        unnamed.rename(path)
        sync_directory(directory)
    except BaseException:
        os.close(descriptor)
        raise
    return Segment(path, base, epoch, replay, previous), descriptor


def sync_directory(directory: Path) -> None:
    """Force the names in a directory to the disk."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_segment(path: Path) -> Segment:
    """A segment as its header describes it; BadSegment says what is wrong with the header."""
    with path.open("rb") as file:
        head = file.read(SEGMENT_HEADER_SIZE)
    if len(head) < SEGMENT_HEADER_SIZE:
        raise BadSegment(f"{path}: {len(head)} bytes long, a segment's header has {SEGMENT_HEADER_SIZE}")
    magic, version, _, epoch, base, replay, previous, _ = _HEADER.unpack_from(head)
    if magic != MAGIC:
        raise BadSegment(f"{path}: no segment of a log, it starts with {magic!r}")
    if google_crc32c.value(head[: _HEADER.size]).to_bytes(4, "little") != head[_HEADER.size :]:
        raise BadSegment(f"{path}: the header's check sum is wrong")
    if not _OLDEST_VERSION <= version <= FORMAT_VERSION:
        known = f"versions {_OLDEST_VERSION} to {FORMAT_VERSION}"
        raise BadSegment(f"{path}: format version {version}; this program knows {known}")
    if path.name != segment_path(path.parent, base).name:
        raise BadSegment(f"{path}: the header says that its first position is {base}, which is not what the name says")
    return Segment(path, base, epoch, replay, previous, version)


def segment_files(directory: Path) -> list[Path]:
    """The files of all segments, in the order of their positions."""
    return sorted(path for path in directory.glob("*" + _SUFFIX) if path.stem.isdigit())


SCAN_BLOCK = 1 << 20


def scan_records(
    descriptor: int, segment: Segment, position: int, stop: int, block: int = SCAN_BLOCK
) -> Iterator[Record]:
    """The records from `position` up to `stop`, starts of batches left out; BadRecord at the first that is none.

    A server that starts reads millions of records here. So this repeats `read_record` in its fastest form: no call per
    record, one slice for the check sum and one for the body. Records are yielded one by one, because thousands alive at
    a time would keep the garbage collector busy.
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
            if length < SCAN_BLOCK:
                covered = data[at + 4 : end]
                if check(covered) != crc:
                    break
                body = covered[body_at:]
            else:  # may be hundreds of megabytes: avoiding a copy is worth a second call
                body = data[at + header : end]
                if extend_crc(check(data[at + 4 : at + header]), body) != crc:
                    break
            if kind:
                yield make(record, (position + at, kind, body, offset, count, time, epoch, flags))
            at = (end + fill) & aligned
        if not at:
            read_record(data, 0, position)  # raises with what is wrong
        position += at


def load(descriptor: int, place: int, size: int, most: int) -> bytes:
    """`size` bytes of the file from a record on, or more if that record is larger, but never more than `most`.

    Behind `most` may be what a server wrote before it stopped trusting the file.
    """
    data = os.pread(descriptor, size, place)
    room = record_room(data, 0)
    return data if room <= len(data) else os.pread(descriptor, min(room, most), place)


def load_into(pool: BufferPool, descriptor: int, place: int, size: int, most: int) -> memoryview:
    """The same as `load`, into memory of a pool."""
    data = _filled(pool, descriptor, place, size)
    record = record_room(data, 0)
    if record <= len(data):
        return data
    pool.give_back(len(data))
    return _filled(pool, descriptor, place, min(record, most))


def _filled(pool: BufferPool, descriptor: int, place: int, size: int) -> memoryview:
    memory = pool.take(size)
    return memory[: os.preadv(descriptor, [memory], place)]
