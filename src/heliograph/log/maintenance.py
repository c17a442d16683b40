"""Maintenance: checkpoints, so that a log is opened quickly, and compaction, which gives back disk space.

Theory of operation
1. All of it is done in small steps (`work`), between other things: a checkpoint of a million sessions must not hold up
   a message. Each job is a generator; what it yields is the position up to which the log must be safe before its next
   step. Only one job runs at a time.
2. A *checkpoint* writes down again all that is known: first `CHECKPOINT`, then every cursor, then the application
   records of whoever uses the log, then `CHECKPOINT_COMPLETE` in a new segment whose header says to replay from the
   first of them. Other records are written meanwhile; they are replayed on top of the checkpoint's state.
3. *Compaction* deletes segments before the replay position in which no cursor has pending messages. A segment with
   only a few of them is emptied first: these messages are copied to the end of the log, and `MESSAGES_MOVED` says for
   which cursors the copies count. A segment is deleted only when the copies, and the acknowledgements of what was not
   copied, are safe; so a crash at any moment leaves either the segment or the copies.
4. Only maintenance moves messages, and new ones go to the end. So a segment that is not needed never is again.
"""

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator
from itertools import chain
from time import monotonic

from heliograph.log import log_kinds
from heliograph.log.cursor import CHUNK_SIZE
from heliograph.log.errors import NotWritable
from heliograph.log.group import records_in
from heliograph.log.log_kinds import MovedRun
from heliograph.log.message_log import MessageLog
from heliograph.log.messages import Receivers, receivers_of
from heliograph.log.ranges import Ranges
from heliograph.log.record import Record

CHECKPOINT_AFTER = 32 << 20
"""Bytes of log after which a checkpoint pays; more if the last one was large."""
_CHECKPOINT_SHARE = 4
_LOOK_AFTER = 8 << 20
_LIVE_ENOUGH = 0.25
"""A segment of which a smaller part than this is needed is emptied and deleted."""
_WORTH_COMPACTING = 0.9
"""The same when somebody asks for compaction."""
_READ_AT_ONCE = 256 << 10
_LOOK_AT_ONCE = 200
"""Cursors and chunks that are looked at in one step."""

ApplicationRecord = tuple[int, bytes]
"""Kind and body of a record of whoever uses the log."""


class Maintenance:
    """Checkpoints and compaction of one log."""

    def __init__(
        self,
        message_log: MessageLog,
        checkpoint_records: Callable[[], Iterator[ApplicationRecord]],
        now: Callable[[], float] = monotonic,
    ) -> None:
        """`checkpoint_records` yields the whole state of the user of the log, for a checkpoint.

        It is consumed in steps.
        """
        self._message_log = message_log
        self._checkpoint_records = checkpoint_records
        self._now = now
        self._looked_at = message_log.end
        self._freed = 0
        self._work: Iterator[int] | None = None
        self._waits_for = 0
        """Position up to which the log must be safe before the job may go on."""

    def freed(self, size: int) -> None:
        """Note that `size` bytes are not needed any more, so that segments are deleted even if the log does not
        grow."""
        self._freed += size

    def work(self, seconds: float) -> None:
        """Do steps for about `seconds` at most, if there is something to do."""
        until = self._now() + seconds
        while self._now() < until and self._waits_for <= self._message_log.safe:
            if self._work is None:
                self._work = self._next()
                if self._work is None:
                    return
            waits_for = next(self._work, None)
            if waits_for is None:
                self._work = None
            self._waits_for = waits_for or 0

    @property
    def busy(self) -> bool:
        """Whether a job has been begun and is not finished."""
        return self._work is not None

    def _next(self) -> Iterator[int] | None:
        message_log = self._message_log
        if message_log.end - message_log.checkpoint > max(
            CHECKPOINT_AFTER, _CHECKPOINT_SHARE * message_log.checkpoint_size
        ):
            # Disk space first: when the log grows quickly, one checkpoint follows the other.
            return chain(self._tidy(_LIVE_ENOUGH), self._checkpoint())
        if message_log.end - self._looked_at + self._freed > _LOOK_AFTER:
            self._looked_at, self._freed = message_log.end, 0
            return self._tidy(_LIVE_ENOUGH)
        return None

    def checkpoint(self) -> None:
        """Write a whole checkpoint at once; NotWritable if the disk does not take it."""
        self._finish(self._checkpoint())

    def compact(self) -> None:
        """Give back all disk space that is not needed, at once; but do not copy much to gain little."""
        log = self._message_log.log
        log.rotate(log.replay_position)  # a segment of its own for the checkpoint: those before it can all go
        self.checkpoint()
        self._finish(self._tidy(_WORTH_COMPACTING))

    def _finish(self, work: Iterator[int]) -> None:
        for waits_for in chain((self._waits_for,), self._work or (), work):
            if waits_for > self._message_log.safe and not self._message_log.wait():
                self._work, self._waits_for = None, 0  # an unfinished job can be dropped: nothing depends on it
                raise NotWritable(f"{self._message_log.log.directory}: {self._message_log.trouble}")
        self._work, self._waits_for = None, 0

    # Jobs: each yields, between two steps, the position up to which the log must be safe before the next one.

    def _checkpoint(self) -> Iterator[int]:
        message_log = self._message_log
        start = message_log.begin_checkpoint()
        for number in list(message_log.cursors):
            if cursor := message_log.cursors.get(number):
                message_log.append_cursor(cursor)
                yield 0
        for kind, body in self._checkpoint_records():
            message_log.append_record(kind, body)
            yield 0
        # This record begins a segment, whose header says where to replay from. All before it is safe by then.
        message_log.log.rotate(start)
        message_log.complete_checkpoint(start)
        message_log.end_turn()
        yield message_log.end

    def _tidy(self, live_enough: float) -> Iterator[int]:
        log = self._message_log.log
        # What is stored meanwhile goes behind these segments: a cursor that does not need one now never will.
        old = [(base, end) for base, end in log.segments()[:-1] if end <= log.replay_position]
        live = yield from self._live_bytes(old)
        dead = [base for base, _ in old if base not in live]
        if dead:
            # The acknowledgements must be safe first, or a crash would bring back cursors that need these segments.
            self._message_log.end_turn()
            yield self._message_log.end
            log.delete(dead)
        for base, end in old:
            if 0 < live.get(base, 0) < live_enough * (end - base):
                yield from self._empty(base, end)
                log.delete([base])

    def _live_bytes(self, segments: list[tuple[int, int]]) -> Generator[int, None, dict[int, float]]:
        """An estimate of the bytes needed in each of these segments, by its base; unneeded ones are missing.

        Meanwhile chunks may be added, grow at their end and be dropped. None gets into these segments: only maintenance
        moves messages.
        """
        bases = [base for base, _ in segments]
        live: dict[int, float] = {}
        looked = 0
        for cursor in list(self._message_log.cursors.values()) if segments else ():
            looked += 1
            if not looked % _LOOK_AT_ONCE:
                yield 0
            for chunk in cursor.chunks[:]:
                if pending := cursor.pending_within(chunk.first, chunk.next):
                    density = chunk.size * pending / (chunk.next - chunk.first) / (chunk.end - chunk.start)
                    first, last = (max(0, bisect_right(bases, at) - 1) for at in (chunk.start, chunk.end - 1))
                    for base, end in segments[first : last + 1]:
                        if (room := min(chunk.end, end) - max(chunk.start, base)) > 0:
                            live[base] = live.get(base, 0) + max(1.0, room * density)
                looked += 1
                if not looked % _LOOK_AT_ONCE:
                    yield 0
        return live

    def _empty(self, base: int, end: int) -> Iterator[int]:
        """Copy the needed messages of a segment to the end of the log."""
        message_log = self._message_log
        found: dict[int, list[MovedRun]] = {}
        position = base
        while records := message_log.reader.read(position, _READ_AT_ONCE, end):
            position = records[-1].end
            for record in chain.from_iterable(map(records_in, records)):
                if record.kind == log_kinds.MESSAGES:
                    self._copy(record, found)
            yield 0
        runs = [run for number, runs in found.items() if number in message_log.cursors for run in runs]
        if runs:
            message_log.moved(base, end, runs)
        message_log.end_turn()  # acknowledgements of the rest have to be safe, too
        yield message_log.end

    def _copy(self, record: Record, found: dict[int, list[MovedRun]]) -> None:
        """Copy a record for cursors that still need it; `found` collects which messages of which cursors the segment
        had."""
        here: list[tuple[int, int]] = []
        live: list[tuple[int, int]] = []
        needed = Ranges()
        receivers = receivers_of(record.body)
        for number, offset in zip(receivers.cursors, receivers.offsets, strict=True):
            cursor = self._message_log.cursors.get(number)
            chunk = cursor.chunk_of(offset) if cursor else None
            if cursor is None or chunk is None or not chunk.start <= record.position < chunk.end:
                continue  # acknowledged, or another copy is the one that counts
            here.append((number, offset))
            if cursor.pending_within(offset, offset + record.count):
                live.append((number, offset))
                for lo, hi in cursor.pending_ranges_within(offset, offset + record.count):
                    needed.add(lo - offset, hi - offset)
        start = end = 0
        if live:
            columns = Receivers([number for number, _ in live], [offset for _, offset in live], [0] * len(live))
            start, end = self._message_log.copy(record, columns, needed)
        for number, offset in here:
            copied = (start, end) if (number, offset) in live else (0, 0)
            _add_run(found.setdefault(number, []), MovedRun(number, offset, offset + record.count, *copied, 0))


def _add_run(runs: list[MovedRun], new: MovedRun) -> None:
    """Add messages that were found behind others. A run is in order and, as any chunk, not too long to be read.

    A segment that has copies itself may have later messages before earlier ones, and others of them are elsewhere.
    """
    new = new._replace(size=new.end - new.start)
    last = runs[-1] if runs else None
    if last is not None and last.hi == new.lo and (not last.size or not new.size or new.end - last.start <= CHUNK_SIZE):
        start = last.start if last.size else new.start
        end = new.end if new.size else last.end
        runs[-1] = MovedRun(last.cursor, last.lo, new.hi, start, end, last.size + new.size)
    else:
        runs.append(new)
