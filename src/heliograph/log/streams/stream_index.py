"""The index of a stream: small files by which other processes find its messages in the log.

Theory of operation
1. `streams/NAME/stream.json` in the directory of the log describes the stream, `streams/NAME/PARTITION.index` says
   where the messages of a partition are. The server writes only what is safe, so readers never see a message that a
   crash could undo. The index is written again whenever a server starts, so it need not survive a crash.
2. A partition's file is a header and entries, one for each chunk of the cursor but the last, which is in the header. An
   entry is written once, before the header that counts it. The header is overwritten in place. A reader that catches it
   half written notices by the check sum and tries again.
3. When chunks have moved, or many entries are of dropped chunks, a new file replaces the old one. Readers notice by
   its inode.
4. The writer takes a snapshot of the cursor (`take`) and writes it later (`write`), when the log is safe up to there.

header:  magic 8 HELIOIDX, cursor 4, zero 4, entries 8, gone 8 (so many of them, from the front, are of dropped chunks),
         first 8 and next 8 (the present offsets), bytes 8, the last chunk as an entry (empty if there is none), crc 4
entry:   first 8, next 8 (its offsets), start 8, end 8 (positions it lies between), time 8 (of its newest message)
"""

import json
import os
import shutil
import struct
from bisect import bisect_left, bisect_right
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import google_crc32c

from heliograph.common import private_files
from heliograph.log.cursor import Chunk, Cursor
from heliograph.log.errors import IndexDamaged, NotWritable, UnknownStream

MAGIC = b"HELIOIDX"
_HEADER = struct.Struct("<8sII5Q5Q")
_CRC = struct.Struct("<I")
_HEADER_SIZE = _HEADER.size + _CRC.size
_ENTRY = struct.Struct("<5Q")
_GONE_MOST = 1024
"""A new file is written when more entries than this, and more than half of all, are of dropped chunks."""
_ATTEMPTS = 100
_ENTRIES_AT_ONCE = 64


def stream_directory(directory: Path, name: str) -> Path:
    """Where the index of a stream is, in the directory of a log."""
    return directory / "streams" / name


def write_description(directory: Path, name: str, description: dict[str, Any]) -> None:
    """Write the description of a stream."""
    folder = stream_directory(directory, name)
    try:
        private_files.make_folder(folder.parent)
        private_files.make_folder(folder)
        _replace(folder / "stream.json", json.dumps(description).encode())
    except OSError as error:
        raise NotWritable(f"{folder}: {error.strerror or error}") from None


def delete_index(directory: Path, name: str) -> None:
    """Delete the index of a stream. Its description goes first: without it, readers do not find what is left."""
    folder = stream_directory(directory, name)
    with suppress(OSError):
        (folder / "stream.json").unlink()
    shutil.rmtree(folder, ignore_errors=True)


def read_description(directory: Path, name: str) -> dict[str, Any]:
    """The description of a stream; UnknownStream names the streams that exist if this is none of them."""
    try:
        found: dict[str, Any] = json.loads((stream_directory(directory, name) / "stream.json").read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise unknown_stream(directory, name) from None
    return found


def unknown_stream(directory: Path, name: str) -> UnknownStream:
    """The error for a stream that does not exist; it names those that do."""
    names = ", ".join(stream_names(directory))
    return UnknownStream(f'unknown stream "{name}"; {f"streams are: {names}" if names else "there are no streams"}')


def stream_names(directory: Path) -> list[str]:
    """The streams that a log has."""
    return sorted(path.parent.name for path in directory.glob("streams/*/stream.json"))


def _replace(path: Path, data: bytes) -> None:
    unnamed = path.with_name(path.name + ".new")
    with open(unnamed, "wb", opener=private_files.opener) as file:
        file.write(data)
    unnamed.rename(path)


class PartitionIndexWriter:
    """Writes the index of one partition.

    `take` takes a snapshot of the cursor, and `write` writes it when it is safe.
    """

    def __init__(self, directory: Path, name: str, partition: int, cursor: Cursor) -> None:
        self.cursor = cursor
        self._path = stream_directory(directory, name) / f"{partition}.index"
        self._descriptor = -1
        self._entries = 0
        self._indexed = 0
        """Chunks before this offset have been written as entries."""
        self._taken = (-1, -1, -1)
        self._pending: tuple[bool, bytes, int, bytes] | None = None

    def take(self) -> bool:
        """Take a snapshot of the cursor; False if nothing has changed."""
        cursor = self.cursor
        now = cursor.first, cursor.next, cursor.moves
        if now == self._taken:
            return False
        # The last chunk still grows: it is in the header, and becomes an entry when the next one begins.
        closed = max(0, len(cursor.chunks) - 1)
        gone = self._entries - bisect_left(cursor.chunks, self._indexed, hi=closed, key=_first_of)
        # A new file if there is none yet, if chunks have moved, or if too many entries are of dropped chunks.
        anew = self._descriptor < 0 or now[2] != self._taken[2] or gone > max(_GONE_MOST, self._entries // 2)
        if anew:
            self._entries = self._indexed = 0
        new = cursor.chunks[bisect_left(cursor.chunks, self._indexed, hi=closed, key=_first_of) : closed]
        place = _HEADER_SIZE + self._entries * _ENTRY.size
        self._entries += len(new)
        if new:
            self._indexed = new[-1].next
        last = cursor.chunks[-1] if cursor.chunks else Chunk(cursor.next, cursor.next, 0, 0, 0, 0)
        header = _HEADER.pack(
            MAGIC,
            cursor.number,
            0,
            self._entries,
            self._entries - closed,
            cursor.first,
            cursor.next,
            cursor.bytes,
            *_fields(last),
        )
        header += _CRC.pack(google_crc32c.value(header))
        self._pending = anew, header, place, b"".join(_ENTRY.pack(*_fields(chunk)) for chunk in new)
        self._taken = now
        return True

    def write(self) -> None:
        """Write the snapshot; the log must be safe up to there."""
        if self._pending is None:
            return
        anew, header, place, entries = self._pending
        self._pending = None
        try:
            if anew:
                self.close()
                _replace(self._path, header + entries)
                self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC)
            else:
                # Entries before the header: a reader looks only at entries that the header counts.
                os.pwrite(self._descriptor, entries, place)
                os.pwrite(self._descriptor, header, 0)
        except OSError:
            # Mostly a full disk, which the log reports. The next snapshot is written as a whole new file.
            self.close()
            self._taken = (-1, -1, -1)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class Entry(NamedTuple):
    """Offsets `first` to `next` lie between positions `start` and `end`; the newest of them came at `time`."""

    first: int
    next: int
    start: int
    end: int
    time: int


class PartitionIndex:
    """Reads the index of one partition while a server may write it."""

    def __init__(self, directory: Path, name: str, partition: int) -> None:
        self._path = stream_directory(directory, name) / f"{partition}.index"
        self._descriptor = -1
        self._file = (0, 0)
        try:
            self.refresh()
        except BaseException:
            self.close()
            raise

    def refresh(self) -> None:
        """Read the header again; IndexDamaged if it stays damaged."""
        for _ in range(_ATTEMPTS):
            try:
                self._reopen()
            except FileNotFoundError:
                raise UnknownStream(f"stream {self._path.parent.name}: no partition {self._path.stem}") from None
            head = os.pread(self._descriptor, _HEADER_SIZE, 0)
            if len(head) == _HEADER_SIZE and _CRC.pack(google_crc32c.value(head[: _HEADER.size])) == head[-4:]:
                break
        else:
            raise IndexDamaged(f"{self._path}: damaged; it is made anew when the server starts")
        magic, cursor, _, entries, gone, first, next_, size, *last = _HEADER.unpack(head[: _HEADER.size])
        if magic != MAGIC:
            raise IndexDamaged(f"{self._path}: no index of a stream, it starts with {magic!r}")
        self.cursor: int = cursor
        self._entries: int = entries
        self._gone: int = gone
        self.first: int = first
        self.next: int = next_
        self.bytes: int = size
        self._last = Entry(*last)

    def _reopen(self) -> None:
        status = self._path.stat()
        if self._descriptor < 0 or (status.st_dev, status.st_ino) != self._file:
            self.close()
            self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            status = os.fstat(self._descriptor)
            self._file = status.st_dev, status.st_ino

    def _entry(self, number: int) -> Entry:
        if number == self._entries:
            return self._last
        data = os.pread(self._descriptor, _ENTRY.size, _HEADER_SIZE + number * _ENTRY.size)
        if len(data) < _ENTRY.size:
            raise IndexDamaged(f"{self._path}: damaged; it is made anew when the server starts")
        return Entry(*_ENTRY.unpack(data))

    # Entries are found by bisection in the file: opening an index costs the same whatever the size of the stream.

    def entries_from(self, offset: int) -> list[Entry]:
        """The chunk of an offset, not before the first, and some that follow; the last chunk for an offset to come."""
        numbers = range(self._gone, self._entries)
        found = self._gone + bisect_right(numbers, offset, key=lambda number: self._entry(number).next)
        place, count = _HEADER_SIZE + found * _ENTRY.size, min(_ENTRIES_AT_ONCE, self._entries - found)
        data = os.pread(self._descriptor, count * _ENTRY.size, place)
        if len(data) < count * _ENTRY.size:
            raise IndexDamaged(f"{self._path}: damaged; it is made anew when the server starts")
        entries = [*map(Entry._make, _ENTRY.iter_unpack(data))]
        return entries if found + count < self._entries else [*entries, self._last]

    def entry_at(self, time: int) -> Entry:
        """The first chunk with a message that came at this time or later; the last if there is none."""
        numbers = range(self._gone, self._entries)
        found = bisect_left(numbers, time, key=lambda number: self._entry(number).time)
        return self._entry(self._gone + found)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _fields(chunk: Chunk) -> tuple[int, int, int, int, int]:
    return chunk.first, chunk.next, chunk.start, chunk.end, chunk.time


def _first_of(chunk: Chunk) -> int:
    return chunk.first
