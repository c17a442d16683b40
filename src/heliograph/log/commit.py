"""Group commit: a thread that writes the gathered records, forces them to disk, and reports how far the log is safe.

Theory of operation
1. Any thread appends records to the batch that *gathers*, the last one in `_waiting`. The commit thread takes the
   oldest batch, writes it, forces the disk once, and reports its end with `on_safe`. Meanwhile the next batch gathers.
   So the slower the disk, the larger the batches: all callers that wait share the cost of forcing.
2. `safe` never goes back, and only the commit thread changes it. Batches become safe in the order of their positions.
   `end` is the position behind the last record that was appended.
3. With a fast disk and little traffic there would be a batch for each message. So the caller says how soon its records
   have to be safe:
   - `commit()`: at once. The thread is woken, or begins with them as soon as it is back from the last batch.
   - `commit(at_once=False)`: soon. If the disk was last forced less than the interval ago, records gather for the rest
     of the interval; a large batch goes at once. The thread is not woken for this: until the interval is over, it
     sleeps with a timeout (it *lingers*). Waking it in the middle of other work, where it would only wait for the
     interpreter lock, costs both threads more.
   - `write()`: some time. The records are written, so they survive the process, but the disk is not forced. They remain
     the beginning of the batch that gathers, and are forced with the rest of it.
4. The thread is idle (waits without a timeout), lingers, pauses (waits with a timeout, although there was a commit), or
   works. `_idle`, `_lingering` and `_pausing` tell the appending thread whether it has to wake it. They are set before
   the commit thread looks for work, so that nothing that is appended in between is missed.

A disk in trouble loses nothing that was acknowledged, and acknowledges nothing that may be lost:
1. Disk full: what was written of the batch is cut off again. After a pause the batch is tried again, until it works.
2. Any other error, above all one of fdatasync: the kernel may have dropped the dirty pages, and a second fdatasync
   would report success. So this file is not trusted any more. The batch, which is still in memory, is written again in
   a new segment that starts where the log is known to be safe.
A batch stays in memory until it is forced, so both hold for a batch that was written in part, too.
"""

import errno
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

from heliograph.log.record import BATCH, SYNCED, frame
from heliograph.log.segment import Segment, create_segment

BATCH_SIZE = 16 << 20
"""A batch does not get larger than this, unless a single record does."""
DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
LARGE = 256 << 10
"""A batch of this size makes forcing worthwhile: it does not wait for more, and does not stay unforced."""
_AHEAD = 0.0003
"""Seconds that a server needs to append the records of a turn before they are forced."""
_WORTH_A_PAUSE = 0.001
"""Seconds; a shorter pause costs more than it saves."""
_PIECES_PER_WRITE = 1000  # writev takes no more than 1024
_WORTH_GATHERING = 4096
"""Pieces smaller than this on average are joined, so that the whole batch is written with one call.

That is faster than a vectored write of many small pieces. Also, each call releases the interpreter lock, and busy
threads do not give it back soon.
"""


@dataclass(slots=True)
class Batch:
    """Records that are written and forced together."""

    start: int
    """Position of its first record."""
    end: int
    """Position behind its last record."""
    replay: int | None
    """Begin a new segment with this batch, with this replay position."""
    pieces: list[bytes] = field(default_factory=list)
    written: int = 0
    """Number of pieces that have been written already, without being forced."""
    reached: int = 0
    """Position behind the pieces that have been written."""

    def __post_init__(self) -> None:
        self.reached = self.start

    def forget_written(self) -> None:
        """Mark all of it as not written."""
        self.written, self.reached = 0, self.start


class Committer:
    """The one writer of a log. It owns the segment that is being written, and the thread that writes."""

    def __init__(
        self,
        directory: Path,
        segment: Segment,
        descriptor: int,
        *,
        end: int,
        segment_size: int,
        force: bool,
        interval: float,
        wall: Callable[[], float],
        monotonic: Callable[[], float],
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
        self._wall = wall
        self._monotonic = monotonic
        self._force = force
        self._interval = interval if force else 0.0
        self._retry = retry
        self._on_safe = on_safe
        self._on_trouble = on_trouble
        self._in_trouble = False
        self._distrusted = False
        self._lock = threading.Lock()
        """Protects `_waiting`, `_gathering` and `_next_replay`, which both threads use."""
        self._waiting: deque[Batch] = deque()
        self._gathering: Batch | None = None
        """The last waiting batch, if it may still grow."""
        self._next_replay: int | None = None
        self._at_once = end
        """Everything before this position has to be forced at once,"""
        self._soon = end
        """before this one soon,"""
        self._some_time = end
        """and before this one written."""
        self._forced = float("-inf")
        """When forcing the disk was last begun."""
        self._idle = False
        """The thread sleeps without a timeout: any request must wake it."""
        self._lingering = False
        """The thread sleeps until the disk may be forced again; nothing was committed yet. `write` must wake it."""
        self._pausing = False
        """The thread sleeps with a timeout: only `commit(at_once=True)` must wake it."""
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._halted = False
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="log-commit", daemon=True)
        self._thread.start()

    def append(self, kind: int, *body: bytes, offset: int = 0, count: int = 0, flags: int = 0, when: int = 0) -> int:
        """Append a record and return its position. It is written after the next `commit` or `write`.

        The record's time is `when`, in milliseconds since 1970, or now.
        """
        pieces, room = frame(kind, body, offset, count, when or int(self._wall() * 1000), self._epoch, flags)
        with self._lock:
            batch = self._gathering
            # Only the last batch grows, so batches are in the order of their positions.
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
        """Begin a new segment, with this replay position, with the next record that is appended."""
        if not self.replay <= replay <= self.end:
            raise ValueError(f"replay position {replay}: expected one from {self.replay} to {self.end}")
        with self._lock:
            self._gathering = None
            self._next_replay = replay

    def commit(self, *, at_once: bool = True) -> None:
        """Make everything appended so far safe, at once or soon. Does not wait for it."""
        end = self._soon = self.end
        at_once = at_once or end - self.safe > LARGE
        if at_once:
            self._at_once = end
        self._wake_up(self._idle or (at_once and self._pausing))

    def until_force(self, now: float) -> float:
        """Seconds for which appending is pointless, because nothing new would become safe any sooner.

        They end shortly before the next batch may be forced. While one is being forced, they end when it is safe, which
        `on_safe` reports, or one interval later.
        """
        rest = self._forced + self._interval - _AHEAD - now
        if rest >= _WORTH_A_PAUSE:
            return rest
        return self._interval if self._soon > self.safe else 0.0

    def write(self) -> None:
        """Hand everything appended so far to the kernel, so that it survives this process. `commit` makes it safe."""
        self._some_time = self.end
        self._wake_up(self._idle or self._lingering)

    def _wake_up(self, asleep: bool) -> None:
        # A thread that is awake looks for work again before it goes to sleep, so it needs no wake-up. The flags may be
        # read without the lock: they are set before the thread looks.
        if asleep and self._waiting:
            self._idle = self._lingering = self._pausing = False
            self._wake.put(None)

    def halt(self) -> None:
        """Stop writing for good; what has been appended and not written yet is lost."""
        with self._lock:
            self._halted = True

    def close(self) -> None:
        """Write what has been appended, and end the thread. If the disk is in trouble, give up."""
        self._closing.set()
        self._wake.put(None)
        self._thread.join()
        os.close(self._descriptor)

    def _run(self) -> None:
        while (batch := self._next_batch()) is not None and self._write_until_safe(batch):
            self.safe = batch.end
            self._on_safe(batch.end)

    def _next_batch(self) -> Batch | None:
        """Wait for a batch to force: the oldest one, which does not grow any more. None when the log is closed."""
        while True:
            with self._lock:
                if self._halted:
                    return None
                self._idle = self._pausing = True  # before looking for work, so that no wake-up is missed in between
                pause = self._pause()
                if pause == 0:
                    self._idle = self._pausing = False
                    return self._take_batch()
                self._idle, self._lingering = pause is None, self._soon <= self.safe
                early = self._unwritten() if self._lingering else None
            if early is not None:
                self._write_early(*early)
            elif pause is not None:
                with suppress(Empty):
                    self._wake.get(timeout=pause)
            elif self._closing.is_set():
                return None
            else:
                self._wake.get()

    def _pause(self) -> float | None:
        """Seconds to wait before the next look; 0: there is something to force; None: until somebody commits."""
        if self._waiting:
            if self._at_once > self.safe:  # the most frequent case
                return 0.0
            batch = self._waiting[0]
            # A batch that cannot grow gains nothing by waiting.
            if batch is not self._gathering or batch.end - batch.start > LARGE or self._closing.is_set():
                return 0.0
        elif self._closing.is_set():
            return None
        rest = self._forced + self._interval - self._monotonic() if self._interval else 0.0
        if rest > 0:
            return rest
        return 0.0 if self._waiting and self._soon > self.safe else None

    def _take_batch(self) -> Batch:
        batch = self._waiting.popleft()
        if batch is self._gathering:
            self._gathering = None
        return batch

    def _unwritten(self) -> tuple[Batch, list[bytes], int] | None:
        """The part of the gathering batch that `write` asked for: batch, pieces, and the position behind them."""
        batch = self._gathering
        if batch is None or self._some_time <= batch.reached:
            return None
        return batch, batch.pieces[batch.written :], batch.end

    def _write_early(self, batch: Batch, pieces: list[bytes], end: int) -> None:
        """Write a part of a batch that is still growing, unforced.

        If that fails, it is written again with the batch.
        """
        try:
            self._begin(batch)
            self._put(batch, pieces, force=False)
        except OSError:
            self._some_time = 0
        else:
            batch.written += len(pieces)
            batch.reached = end

    def _write_until_safe(self, batch: Batch) -> bool:
        """Write a batch, trying again until it works; False if the log is closed before."""
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
        self._begin(batch)
        if self._interval:
            self._forced = self._monotonic()
        self._put(batch, batch.pieces[batch.written :] if batch.written else batch.pieces, force=self._force)

    def _begin(self, batch: Batch) -> None:
        """Begin a new segment if the old one is full or not trusted, or if `rotate` asked for one."""
        full = batch.end - self._segment.base > self._segment_size and batch.start > self._segment.base
        if self._distrusted or (not batch.written and (full or batch.replay is not None)):
            self._next_segment(batch.start, batch.replay)
            batch.replay = None

    def _put(self, batch: Batch, pieces: list[bytes], *, force: bool) -> None:
        try:
            _write_all(self._descriptor, pieces, self._segment.place(batch.reached))
            if force:
                os.fdatasync(self._descriptor)
        except OSError as error:
            batch.forget_written()  # the next attempt begins with its first byte
            if error.errno not in DISK_FULL or not self._cut(batch.start):
                self._distrusted = True
            raise

    def _cut(self, position: int) -> bool:
        """Cut off a batch that was written in part; False if that fails."""
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
        """Cut the file of a segment behind its last record, and force it even if batches are not forced.

        The next segment may have a later replay position, so it must not survive a crash that this one does not
        survive. Errors are ignored: the segment still ends where the next one begins, and what was reported safe stays
        as safe as before.
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
