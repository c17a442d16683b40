"""Segments: the files that the log is cut into.

A segment's name is the position of its first record, so the segment of any position is found by name. A header of 32
bytes comes first and does not count as part of the log:

    magic    8   HELIOLOG
    version  2   of the format, 1
    (zero)   2
    epoch    4   of the server that made the segment
    base     8   position of the first record
    crc      4   CRC-32C of all before it
    (zero)   4

A segment ends where the next one begins. There may be bytes behind that: a server that could not trust a file any more
has gone on in a new one.
"""

import os
import struct
from dataclasses import dataclass
from pathlib import Path

import google_crc32c

from heliograph.errors import Problem

MAGIC = b"HELIOLOG"
FORMAT_VERSION = 1
_HEADER = struct.Struct("<8sHHIQ")
SEGMENT_HEADER_SIZE = 32
_SUFFIX = ".log"


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of the log."""

    path: Path
    base: int
    """Position of the first record."""
    epoch: int

    def place(self, position: int) -> int:
        """Where a position of the log is in the file."""
        return position - self.base + SEGMENT_HEADER_SIZE


def segment_path(directory: Path, base: int) -> Path:
    """The file of the segment that starts at this position."""
    return directory / f"{base:020d}{_SUFFIX}"


def create_segment(directory: Path, base: int, epoch: int) -> tuple[Segment, int]:
    """Make a segment, on the disk with its name, and open it for writing: it and the file descriptor.

    A file of that name is replaced: it never had a record that counts.
    """
    path = segment_path(directory, base)
    head = _HEADER.pack(MAGIC, FORMAT_VERSION, 0, epoch, base)
    head += google_crc32c.value(head).to_bytes(4, "little") + bytes(4)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, head)
        os.fsync(descriptor)
        sync_directory(directory)
    except BaseException:
        os.close(descriptor)
        raise
    return Segment(path, base, epoch), descriptor


def sync_directory(directory: Path) -> None:
    """Force the names in a directory to the disk."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_segment(path: Path) -> Segment:
    """A segment as its header describes it; a Problem says what is wrong with the header."""
    with path.open("rb") as file:
        head = file.read(SEGMENT_HEADER_SIZE)
    if len(head) < SEGMENT_HEADER_SIZE:
        raise Problem(f"{path}: {len(head)} bytes long, a segment's header has {SEGMENT_HEADER_SIZE}")
    magic, version, _, epoch, base = _HEADER.unpack_from(head)
    if magic != MAGIC:
        raise Problem(f"{path}: no segment of a log, it starts with {magic!r}")
    if google_crc32c.value(head[: _HEADER.size]).to_bytes(4, "little") != head[_HEADER.size : _HEADER.size + 4]:
        raise Problem(f"{path}: the header's check sum is wrong")
    if version != FORMAT_VERSION:
        raise Problem(f"{path}: format version {version}; this program knows version {FORMAT_VERSION}")
    if path.name != segment_path(path.parent, base).name:
        raise Problem(f"{path}: the header says that its first position is {base}, which is not what the name says")
    return Segment(path, base, epoch)


def segment_files(directory: Path) -> list[Path]:
    """The files of all segments, in the order of their positions."""
    return sorted(path for path in directory.glob("*" + _SUFFIX) if path.stem.isdigit())
