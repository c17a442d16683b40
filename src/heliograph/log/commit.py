"""Group commit: a thread that writes what has gathered, forces it to the disk, and tells how far the log is safe.

While one batch is on its way to the disk, the next one gathers. The slower the disk, the larger the batches: the cost
of forcing is shared by all who wait for it.

Trouble with the disk does not lose anything that was acknowledged, and acknowledges nothing that may be lost:
1. No room: what was written of the batch is cut off again, and after a pause it is tried once more, until there is
   room.
2. Any other error, above all from fdatasync: what the kernel says about that file is not trusted any more. The batch,
   which is still in memory, is written again in a new segment that starts where the log is known to be safe.
"""

import errno
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from heliograph.log.record import BATCH, HEADER_SIZE, SYNCED, frame, padded
from heliograph.log.segment import Segment, create_segment

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_PIECES_PER_WRITE = 1000  # writev takes no more than 1024


@dataclass(slots=True)
class Batch:
    """What is to be written in one go."""

    start: int
    """Position of its first record."""
    pieces: list[bytes] = field(default_factory=list)
    size: int = 0

    @property
    def end(self) -> int:
        """Position behind its last record."""
        return self.start + self.size

    def add(self, pieces: list[bytes], size: int) -> None:
        """One more record."""
        self.pieces += pieces
        self.size += size


class Committer:
    """Owns the segment that is being written."""

    def __init__(
        self,
        directory: Path,
        segment: Segment,
        descriptor: int,
        *,
        end: int,
        segment_size: int,
        force: bool,
        retry: float,
        on_safe: Callable[[int], None],
        on_trouble: Callable[[OSError | None], None],
    ) -> None:
        """`on_safe(position)` and `on_trouble(error, or None when it is over)` are called in the thread."""
        self._directory = directory
        self._segment = segment
        self._descriptor = descriptor
        self._end = end
        self._segment_size = segment_size
        self._force = force
        self._retry = retry
        self._on_safe = on_safe
        self._on_trouble = on_trouble
        self._in_trouble = False
        self._distrusted = False
        self._gathering: Batch | None = None
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="log-commit", daemon=True)
        self._thread.start()

    def append(self, pieces: list[bytes], size: int) -> int:
        """Put a framed record behind everything else; its position. It is written after the next `commit`."""
        with self._changed:
            batch = self._gathering
            if batch is None:
                batch = self._gathering = Batch(self._end)
                mark = frame(
                    BATCH, b"", offset=self._end, epoch=self._segment.epoch, flags=SYNCED if self._force else 0
                )
                batch.add(mark, padded(HEADER_SIZE))
            position = batch.end
            batch.add(pieces, size)
            self._end = batch.end
            return position

    def commit(self) -> None:
        """See to it that everything appended so far is written soon."""
        with self._changed:
            self._changed.notify_all()

    @property
    def end(self) -> int:
        """Position behind the last record."""
        return self._end

    def close(self) -> None:
        """Write what has been appended, and stop. In trouble, give up."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        os.close(self._descriptor)

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._gathering is None and not self._closing:
                    self._changed.wait()
                batch, self._gathering = self._gathering, None
            if batch is None or not self._write_until_safe(batch):
                return
            self._on_safe(batch.end)

    def _write_until_safe(self, batch: Batch) -> bool:
        """Write a batch, however often it takes; False if the log is closed before that has worked."""
        while True:
            try:
                self._write(batch)
            except OSError as error:
                self._in_trouble = True
                self._on_trouble(error)
                with self._changed:
                    if self._changed.wait_for(lambda: self._closing, self._retry):
                        return False
                continue
            if self._in_trouble:
                self._in_trouble = False
                self._on_trouble(None)
            return True

    def _write(self, batch: Batch) -> None:
        full = batch.end - self._segment.base > self._segment_size and batch.start > self._segment.base
        if full or self._distrusted:
            self._next_segment(batch.start)
        try:
            _write_all(self._descriptor, batch.pieces, self._segment.place(batch.start))
            if self._force:
                os.fdatasync(self._descriptor)
        except OSError as error:
            if error.errno in _NO_ROOM and self._cut(batch.start):
                raise
            self._distrusted = True
            raise

    def _cut(self, position: int) -> bool:
        """Give the room of a batch back that was written in part; whether that has worked."""
        try:
            os.ftruncate(self._descriptor, self._segment.place(position))
        except OSError:
            return False
        return True

    def _next_segment(self, base: int) -> None:
        segment, descriptor = create_segment(self._directory, base, self._segment.epoch)
        os.close(self._descriptor)
        self._segment, self._descriptor = segment, descriptor
        self._distrusted = False


def _write_all(descriptor: int, pieces: list[bytes], place: int) -> None:
    for start in range(0, len(pieces), _PIECES_PER_WRITE):
        some = pieces[start : start + _PIECES_PER_WRITE]
        size = sum(map(len, some))
        written = os.pwritev(descriptor, some, place)
        if written < size:  # rare: go on with the rest in one piece
            rest = b"".join(some)[written:]
            while rest:
                more = os.pwrite(descriptor, rest, place + written)
                written += more
                rest = rest[more:]
        place += size
