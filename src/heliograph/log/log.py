"""The log: append, learn how far it is safe, read back, let old segments go."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from heliograph.log.commit import Committer
from heliograph.log.lock import DirectoryLock
from heliograph.log.reader import LogReader
from heliograph.log.record import HEADER_SIZE, Record, frame, padded
from heliograph.log.recovery import Torn, recover
from heliograph.log.segment import create_segment, segment_files, sync_directory

SEGMENT_SIZE = 64 << 20


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How a log is kept."""

    segment_size: int = SEGMENT_SIZE
    """A segment that a batch would make larger than this is followed by a new one."""
    force: bool = True
    """Force every batch to the disk before it counts as safe; otherwise it is safe when the kernel has it."""
    retry: float = 1.0
    """Seconds between two attempts to write when the disk is in trouble."""


class Log:
    """One log in one directory, which nobody else can open meanwhile.

    `on_safe(position)` tells that everything before a position is safe, `on_trouble(error)` that writing does not work
    at present (None: it does again). Both are called in the log's own thread.
    """

    def __init__(
        self,
        directory: Path,
        on_safe: Callable[[int], None],
        on_trouble: Callable[[OSError | None], None],
        options: LogOptions = LogOptions(),  # noqa: B008  (frozen)
    ) -> None:
        """Open a log, or make one; Damage if the newest segment has lost what was safe once."""
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self._lock = DirectoryLock(directory)
        try:
            self._open(on_safe, on_trouble, options)
        except BaseException:
            self._lock.release()
            raise

    def _open(
        self, on_safe: Callable[[int], None], on_trouble: Callable[[OSError | None], None], options: LogOptions
    ) -> None:
        found = recover(self.directory)
        self.torn: Torn | None = found.torn
        """What had to be cut off the end."""
        for path in set(segment_files(self.directory)) - {segment.path for segment in found.segments}:
            path.unlink()  # a new segment whose header was not finished
        if found.segments:
            segment = found.segments[-1]
            descriptor = os.open(segment.path, os.O_RDWR | os.O_CLOEXEC)
            os.ftruncate(descriptor, segment.place(found.end))
            os.fsync(descriptor)
        else:
            segment, descriptor = create_segment(self.directory, found.end, epoch=1)
        self.epoch = segment.epoch
        self._committer = Committer(
            self.directory,
            segment,
            descriptor,
            end=found.end,
            segment_size=options.segment_size,
            force=options.force,
            retry=options.retry,
            on_safe=on_safe,
            on_trouble=on_trouble,
        )

    @property
    def end(self) -> int:
        """Position behind the last record that was appended, safe or not."""
        return self._committer.end

    def append(self, kind: int, body: bytes, *, offset: int = 0, count: int = 0) -> int:
        """Append a record (of any kind but 0); its position. It is safe when `on_safe` has named a later one."""
        now = time.time_ns() // 1_000_000
        pieces = frame(kind, body, offset=offset, count=count, time=now, epoch=self.epoch)
        return self._committer.append(pieces, padded(HEADER_SIZE + len(body)))

    def commit(self) -> None:
        """Write what has been appended. Costs little when called often: what gathers meanwhile goes in one batch."""
        self._committer.commit()

    def records(self, position: int = 0, end: int | None = None) -> Iterator[Record]:
        """Written records from a position on; Damage where one is not what it was."""
        return LogReader(self.directory).records(position, end)

    def forget_before(self, position: int) -> int:
        """Delete the segments that lie wholly before a position; how many that were."""
        paths = segment_files(self.directory)
        gone = [path for path, following in pairwise(paths) if int(following.stem) <= position]
        for path in gone:
            path.unlink()
        if gone:
            sync_directory(self.directory)
        return len(gone)

    def close(self) -> None:
        """Write what has been appended, and let others have the log."""
        self._committer.close()
        self._lock.release()
