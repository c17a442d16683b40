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
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from heliograph.log.record import BATCH, SYNCED, frame
from heliograph.log.segment import Segment, create_segment

BATCH_SIZE = 16 << 20
"""A batch does not get larger than this, unless a single record does."""
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_PIECES_PER_WRITE = 1000  # writev takes no more than 1024
_WORTH_GATHERING = 4096
"""Pieces smaller than this on average are copied together, so that the whole batch is written with one call.

That takes less time than to have the kernel gather them. And each call lets the other threads run, which do not hand
the interpreter back soon when they are busy.
"""


@dataclass(slots=True)
class Batch:
    """What is to be written in one go."""

    start: int
    """Position of its first record."""
    end: int
    """Position behind its last record."""
    replay: int | None
    """Begin a new segment with this batch, with this replay position."""
    pieces: list[bytes] = field(default_factory=list)


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
        self._epoch = segment.epoch
        self.end = end
        """Position behind the last record."""
        self.safe = end
        """Everything before this position is safe."""
        self.replay = segment.replay
        """The replay position that the newest segment has, on the disk."""
        self._segment_size = segment_size
        self._force = force
        self._retry = retry
        self._on_safe = on_safe
        self._on_trouble = on_trouble
        self._in_trouble = False
        self._distrusted = False
        self._lock = threading.Lock()
        """Held by whoever looks at the batches that wait."""
        self._waiting: deque[Batch] = deque()
        self._gathering: Batch | None = None
        """The last of those that wait, if it may still grow."""
        self._next_replay: int | None = None
        self._idle = False
        """The thread waits to be woken."""
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._halted = False
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="log-commit", daemon=True)
        self._thread.start()

    def append(self, kind: int, *body: bytes, offset: int = 0, count: int = 0, flags: int = 0, when: int = 0) -> int:
        """Put a record behind everything else; its position. It is written after the next `commit`.

        Its time is `when`, in milliseconds since 1970, or now.
        """
        pieces, room = frame(kind, body, offset, count, when or time.time_ns() // 1_000_000, self._epoch, flags)
        with self._lock:
            batch = self._gathering
            if batch is None or batch.end + room - batch.start > BATCH_SIZE:
                batch = self._begin_batch()
            position = batch.end
            batch.pieces += pieces
            self.end = batch.end = position + room
        return position

    def _begin_batch(self) -> Batch:
        mark, room = frame(BATCH, (), offset=self.end, epoch=self._epoch, flags=SYNCED if self._force else 0)
        batch = Batch(self.end, self.end + room, self._next_replay, list(mark))
        self._next_replay = None
        self._gathering = batch
        self._waiting.append(batch)
        return batch

    def rotate(self, replay: int) -> None:
        """Write all that is appended from now on in a new segment, which has this replay position."""
        if not self.replay <= replay <= self.end:
            raise ValueError(f"replay position {replay}: expected one from {self.replay} to {self.end}")
        with self._lock:
            self._gathering = None
            self._next_replay = replay

    def commit(self) -> None:
        """See to it that everything appended so far is written soon."""
        # When the thread is not idle, it looks for more by itself before it becomes so.
        if self._idle and self._waiting:
            self._idle = False
            self._wake.put(None)

    def halt(self) -> None:
        """Write nothing more, not even what has been appended."""
        with self._lock:
            self._halted = True

    def close(self) -> None:
        """Write what has been appended, and stop. In trouble, give up."""
        self._closing.set()
        self._wake.put(None)
        self._thread.join()
        os.close(self._descriptor)

    def _run(self) -> None:
        while (batch := self._next_batch()) is not None and self._write_until_safe(batch):
            self.safe = batch.end
            self._on_safe(batch.end)

    def _next_batch(self) -> Batch | None:
        """The oldest batch that waits, which does not grow any more; None if there is none and the log is closed."""
        while True:
            with self._lock:
                if self._halted:
                    return None
                if self._waiting:
                    batch = self._waiting.popleft()
                    if batch is self._gathering:
                        self._gathering = None
                    return batch
                self._idle = True
            if self._closing.is_set():
                return None
            self._wake.get()

    def _write_until_safe(self, batch: Batch) -> bool:
        """Write a batch, however often it takes; False if the log is closed before that has worked."""
        while True:
            try:
                self._write(batch)
            except OSError as error:
                self._in_trouble = True
                self._on_trouble(error)
                if self._closing.wait(self._retry):
                    return False
                continue
            if self._in_trouble:
                self._in_trouble = False
                self._on_trouble(None)
            return True

    def _write(self, batch: Batch) -> None:
        full = batch.end - self._segment.base > self._segment_size and batch.start > self._segment.base
        if full or self._distrusted or batch.replay is not None:
            self._next_segment(batch.start, batch.replay)
            batch.replay = None
        try:
            _write_all(self._descriptor, batch.pieces, self._segment.place(batch.start))
            if self._force:
                os.fdatasync(self._descriptor)
        except OSError as error:
            if error.errno in NO_ROOM and self._cut(batch.start):
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

    def _next_segment(self, base: int, replay: int | None) -> None:
        self._finish_segment(base)
        old = self._segment
        self._segment, descriptor = create_segment(
            self._directory,
            base,
            epoch=old.epoch,
            replay=self.replay if replay is None else replay,
            previous=old.base if base > old.base else old.previous,  # otherwise it takes the place of the old one
        )
        os.close(self._descriptor)
        self._descriptor = descriptor
        self._distrusted = False
        self.replay = self._segment.replay

    def _finish_segment(self, end: int) -> None:
        """Let the file of a segment end where its records end, and be on the disk even if batches are not forced there.

        What counts on a new segment (a later replay position) must not outlive what is before it. If it does not work,
        the segment still ends where the next one begins, and all that was told to be safe is as safe as before.
        """
        with suppress(OSError):
            os.ftruncate(self._descriptor, self._segment.place(end))
            os.fsync(self._descriptor)


def _write_all(descriptor: int, pieces: list[bytes], place: int) -> None:
    if sum(map(len, pieces)) < _WORTH_GATHERING * len(pieces):
        pieces = [b"".join(pieces)]
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
