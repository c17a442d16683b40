"""Segments: files with messages, numbered one after the other, in the directory of a spool.

A segment is an Arrow file that is whole and on the disk before it has its name. It also says which packet identifiers
of QoS 2 are held, and how many messages came before it; that is why the newest one is always kept.
"""

import os
import struct
import threading
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from heliograph.common import private_files
from heliograph.common.private_files import DirectoryLock
from heliograph.errors import Problem, StorageError
from heliograph.pipeline.errors import SpoolDamaged, SpoolInUse
from heliograph.pipeline.spool.inbox import STORED, Rows

_SUFFIX, _UNFINISHED = ".arrow", ".unfinished"
_FIRST, _ROWS, _HELD = b"first", b"rows", b"held"


class Facts(NamedTuple):
    """The metadata of a segment."""

    first: int
    """How many messages came before it."""
    rows: int
    held: frozenset[int]


def segment_file(directory: Path, number: int) -> Path:
    """The path of a segment."""
    return directory / f"{number:012}{_SUFFIX}"


def segment_numbers(directory: Path) -> list[int]:
    """The numbers of existing segments, in order."""
    return sorted(int(path.stem) for path in directory.glob(f"*{_SUFFIX}"))


def read_segment(directory: Path, number: int) -> tuple[Facts, pa.RecordBatch]:
    """Map a segment into memory; its messages are read from the file on access."""
    path = segment_file(directory, number)
    try:
        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        batch = reader.get_batch(0)
        said = reader.schema.metadata
        held = struct.iter_unpack(">H", bytes.fromhex(said[_HELD].decode()))
        return Facts(int(said[_FIRST]), int(said[_ROWS]), frozenset(each for (each,) in held)), batch
    except FileNotFoundError:
        raise SpoolDamaged(
            f"{path}: expected a segment of the spool, found none; did another query commit it?"
        ) from None
    except (OSError, pa.ArrowInvalid, KeyError, ValueError, TypeError) as error:
        raise SpoolDamaged(f"{path}: expected a segment of the spool, found something else: {error}") from None


class Spool:
    """The segments of one directory, for the one process that adds to them."""

    def __init__(self, directory: Path) -> None:
        """Take the directory, and go on where the last process ended; `SpoolInUse` if another one has it."""
        private_files.make_folder(directory)
        self.directory = directory
        try:
            self._lock = DirectoryLock(directory, "another query")
        except Problem as problem:
            raise SpoolInUse(str(problem)) from None
        self._sizes: dict[int, int] = {}
        self._needed = 0
        self._guard = threading.Lock()
        self.roomier = threading.Event()
        """Set when segments are not needed any more."""
        try:
            self._look()
        except BaseException:
            self._lock.release()
            raise

    def _look(self) -> None:
        for path in self.directory.glob(f"*{_UNFINISHED}"):
            path.unlink()
        numbers = segment_numbers(self.directory)
        self._sizes = {number: segment_file(self.directory, number).stat().st_size for number in numbers}
        self._next = numbers[-1] + 1 if numbers else 0
        self.end = numbers[0] if numbers else 0
        """The number behind the last segment that has messages."""
        self.held: frozenset[int] = frozenset()
        self._messages = 0
        for number in reversed(numbers):
            facts, _ = read_segment(self.directory, number)
            if number == numbers[-1]:
                self.held, self._messages = facts.held, facts.first + facts.rows
            if facts.rows:
                self.end = number + 1
                break

    @property
    def size(self) -> int:
        """Bytes of all segments that are still needed."""
        with self._guard:
            return sum(size for number, size in self._sizes.items() if number >= self._needed)

    def append(self, rows: Rows, held: frozenset[int]) -> None:
        """Write a segment. When this returns, it is safe."""
        said = {
            _FIRST: str(self._messages).encode(),
            _ROWS: str(len(rows)).encode(),
            _HELD: b"".join(struct.pack(">H", each) for each in sorted(held)).hex().encode(),
        }
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, STORED.with_metadata(said)) as writer:
            writer.write_batch(rows.batch())
        data = sink.getvalue()
        number = self._next
        path = segment_file(self.directory, number)
        unfinished = path.with_suffix(_UNFINISHED)
        try:
            _write_safely(unfinished, data)
            unfinished.rename(path)
            _make_safe(self.directory)
        except OSError as error:
            raise StorageError(f"{path}: cannot write a segment of the spool: {error.strerror or error}") from None
        with self._guard:
            self._sizes[number] = data.size
        self._next = number + 1
        self._messages += len(rows)
        self.held = held
        if len(rows):
            self.end = number + 1

    def delete_before(self, number: int) -> None:
        """Delete segments with lower numbers, except the newest segment, which has the counts for the next one."""
        with self._guard:
            self._needed = max(self._needed, number)
            gone = [each for each in self._sizes if each < min(number, self._next - 1)]
            for each in gone:
                segment_file(self.directory, each).unlink(missing_ok=True)
                del self._sizes[each]
        self.roomier.set()

    def close(self) -> None:
        """Release the directory."""
        self._lock.release()


def _write_safely(path: Path, data: pa.Buffer) -> None:
    with open(path, "wb", buffering=0, opener=private_files.opener) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        os.fsync(file.fileno())


def _make_safe(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
