"""The log in one directory: append records, see how far they are safe, read them back, delete old segments.

It knows records, not messages: see `message_log` for those.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from heliograph.common import private_files
from heliograph.common.private_files import DirectoryLock
from heliograph.log.commit import Committer
from heliograph.log.reader import LogReader
from heliograph.log.record import Record
from heliograph.log.recovery import TornTail, recover
from heliograph.log.segment import FORMAT_VERSION, create_segment, segment_path, sync_directory

SEGMENT_SIZE = 64 << 20


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How a log is written, and the clocks that it uses."""

    segment_size: int = SEGMENT_SIZE
    """A segment that a batch would make larger than this is followed by a new one."""
    force: bool = True
    """Force every batch to the disk before it counts as safe; otherwise it is safe when the kernel has it."""
    interval: float = 0.0
    """Least seconds between two forces of the disk, unless somebody commits `at_once`."""
    wall: Callable[[], float] = time.time
    """The time of records, in seconds since 1970."""
    monotonic: Callable[[], float] = time.monotonic
    """Seconds, by which the time between two forces of the disk is measured."""
    retry: float = 1.0
    """Seconds between two attempts to write when the disk is in trouble."""


# Earlier versions made these readable for everybody.
_FILES = ("LOCK", "*.log", "streams", "streams/**/*")


class Log:
    """One log in one directory, which no other process can open meanwhile.

    `on_safe(position)` reports that everything before a position is safe, `on_trouble(error)` that writing fails at
    present (None: it works again). Both are called in the commit thread, `on_safe` once for each batch.
    """

    def __init__(
        self,
        directory: Path,
        on_safe: Callable[[int], None],
        on_trouble: Callable[[OSError | None], None],
        options: LogOptions = LogOptions(),  # noqa: B008  (frozen)
        on_record: Callable[[Record], None] | None = None,
    ) -> None:
        """Open a log, or make one; LogDamaged if records that had been safe are lost.

        `on_record(record)` gets all records from the replay position on; without it only the newest segment is read.
        """
        private_files.make_folder(directory)
        self.directory = directory
        is_ours = not any(directory.iterdir()) or any(directory.glob("*.log"))
        self._lock = DirectoryLock(directory)
        if is_ours:
            private_files.tighten([directory, *(path for ours in _FILES for path in directory.glob(ours))])
        try:
            self._open(on_safe, on_trouble, options, on_record)
        except BaseException:
            self._lock.release()
            raise

    def _open(
        self,
        on_safe: Callable[[int], None],
        on_trouble: Callable[[OSError | None], None],
        options: LogOptions,
        on_record: Callable[[Record], None] | None,
    ) -> None:
        self.reader = LogReader(self.directory)
        """Reads what has been written. To be used in the thread that appends."""
        segments = self.reader.files
        if on_record is None:
            found = recover(segments)
        else:
            if segments:
                for record in self.reader.records(segments[-1].replay, segments[-1].base):
                    on_record(record)
            found = recover(segments, on_record)
        self.torn: TornTail | None = found.torn
        """What was cut off the end, because a batch was not finished."""
        if segments:
            segment = segments[-1]
            descriptor = os.open(segment.path, os.O_RDWR | os.O_CLOEXEC)
            os.ftruncate(descriptor, segment.place(found.end))
            os.fsync(descriptor)
        else:
            segment, descriptor = create_segment(self.directory, found.end, epoch=1)
            self.reader.refresh()
        self.epoch = segment.epoch
        self.replay_from = segment.replay
        """The replay position that the log had when it was opened."""
        self.committer = Committer(
            self.directory,
            segment,
            descriptor,
            end=found.end,
            segment_size=options.segment_size,
            force=options.force,
            interval=options.interval,
            wall=options.wall,
            monotonic=options.monotonic,
            retry=options.retry,
            on_safe=on_safe,
            on_trouble=on_trouble,
        )
        if segment.version < FORMAT_VERSION:  # an older program must not find records there that it does not know
            self.committer.rotate(segment.replay)
        self.append = self.committer.append
        """Append a record; see `Committer.append`. Not a method, to save a call per message."""
        self.commit = self.committer.commit
        """Make what has been appended safe. Cheap to call often: records that gather meanwhile are one batch."""
        self.write = self.committer.write
        """Write what has been appended, and force it with the next commit."""

    @property
    def end(self) -> int:
        """Position behind the last record that was appended, safe or not."""
        return self.committer.end

    @property
    def safe(self) -> int:
        """Everything before this position is safe."""
        return self.committer.safe

    @property
    def waiting(self) -> int:
        """Bytes that have been appended and are not safe yet."""
        return self.committer.end - self.committer.safe

    @property
    def replay_position(self) -> int:
        """The replay position that a server would find now, even after a crash. Segments before it may be deleted."""
        return self.committer.replay

    def rotate(self, replay: int) -> None:
        """Write what is appended from now on in a new segment, whose header says to replay the log from this position.

        The records from there on must be safe already, and be all that a server has to know. The segment is made with
        the next batch: `replay_position` shows when it is on the disk.
        """
        self.committer.rotate(replay)

    def records(self, position: int = 0, end: int | None = None) -> Iterator[Record]:
        """Written records from a position on; LogDamaged where one is damaged."""
        self.reader.refresh()
        return self.reader.records(position, end)

    def segments(self) -> list[tuple[int, int]]:
        """Where each segment starts and ends, oldest first."""
        self.reader.refresh()
        return self.reader.segments(self.safe)

    def delete(self, bases: Iterable[int]) -> None:
        """Delete the segments that start at these positions, any but the newest one."""
        gone = set(bases)
        known = [base for base, _ in self.segments()]
        if wrong := gone - set(known[:-1]):
            raise ValueError(f"{self.directory}: no segments to delete at {sorted(wrong)}, there are {known[:-1]}")
        for base in gone:
            segment_path(self.directory, base).unlink()
        if gone:
            sync_directory(self.directory)
            self.reader.refresh()

    def close(self) -> None:
        """Write what has been appended, and release the lock of the directory."""
        self.committer.close()
        self.reader.close()
        self._lock.release()
