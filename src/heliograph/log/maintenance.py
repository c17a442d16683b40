"""Upkeep: checkpoints, so that a log is opened quickly, and giving back the room of what nobody needs.

All of it is done bit by bit, between other things: a checkpoint of a million sessions must not hold up a message.
"""

import time
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator
from itertools import chain

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
"""Bytes of log after which a checkpoint is worth its price; more if the last one was large."""
_CHECKPOINT_SHARE = 4
_LOOK_AFTER = 8 << 20
_LIVE_ENOUGH = 0.25
"""A segment of which less is needed than this is emptied: what is needed is copied, and it is deleted."""
_WORTH_COMPACTING = 0.9
"""The same when somebody asks for it."""
_READ_AT_ONCE = 256 << 10
_LOOK_AT_ONCE = 200
"""So many cursors and chunks are looked at in one step."""

ApplicationRecord = tuple[int, bytes]
"""Kind and body of a record."""


class Maintenance:
    """Looks after one ledger."""

    def __init__(self, ledger: MessageLog, facts: Callable[[], Iterator[ApplicationRecord]]) -> None:
        """`facts` gives all that the ledger's user knows, for a checkpoint; it is taken bit by bit."""
        self._ledger = ledger
        self._facts = facts
        self._looked_at = ledger.end
        self._freed = 0
        self._work: Iterator[int] | None = None
        self._waits_for = 0
        """How far the log has to be safe before that work may go on."""

    def freed(self, size: int) -> None:
        """So many bytes are not needed any more, and the log may not grow: look for segments to delete without that."""
        self._freed += size

    def work(self, seconds: float) -> None:
        """Spend at most about this much time, if there is something to do."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and self._waits_for <= self._ledger.safe:
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
        """Whether something has been begun."""
        return self._work is not None

    def _next(self) -> Iterator[int] | None:
        ledger = self._ledger
        if ledger.end - ledger.checkpoint > max(CHECKPOINT_AFTER, _CHECKPOINT_SHARE * ledger.checkpoint_size):
            # Room first: when the log grows quickly, one checkpoint follows the other.
            return chain(self._tidy(_LIVE_ENOUGH), self._checkpoint())
        if ledger.end - self._looked_at + self._freed > _LOOK_AFTER:
            self._looked_at, self._freed = ledger.end, 0
            return self._tidy(_LIVE_ENOUGH)
        return None

    def checkpoint(self) -> None:
        """Write down all that is known, at once; NotWritable if the disk does not take it."""
        self._finish(self._checkpoint())

    def compact(self) -> None:
        """Give back all the room that is not needed, at once; but do not copy much to gain little."""
        log = self._ledger.log
        log.rotate(log.replay_position)  # a segment of its own for the checkpoint: those before it can all go
        self.checkpoint()
        self._finish(self._tidy(_WORTH_COMPACTING))

    def _finish(self, work: Iterator[int]) -> None:
        for waits_for in chain((self._waits_for,), self._work or (), work):
            if waits_for > self._ledger.safe and not self._ledger.wait():
                self._work, self._waits_for = None, 0  # nothing depends on what has been done so far
                raise NotWritable(f"{self._ledger.log.directory}: {self._ledger.trouble}")
        self._work, self._waits_for = None, 0

    # Each of these yields between two bits of work the position up to which the log must be safe before the next one.

    def _checkpoint(self) -> Iterator[int]:
        ledger = self._ledger
        start = ledger.note_checkpoint()
        for number in list(ledger.cursors):
            if cursor := ledger.cursors.get(number):
                ledger.note_cursor(cursor)
                yield 0
        for kind, body in self._facts():
            ledger.note(kind, body)
            yield 0
        # The record that says so begins a segment, which says where to replay from: all before it is safe by then.
        ledger.log.rotate(start)
        ledger.note_complete(start)
        ledger.end_turn()
        yield ledger.end

    def _tidy(self, live_enough: float) -> Iterator[int]:
        log = self._ledger.log
        # What is stored while we look goes behind these: who does not need them now, never will.
        old = [(base, end) for base, end in log.segments()[:-1] if end <= log.replay_position]
        live = yield from self._live_bytes(old)
        dead = [base for base, _ in old if base not in live]
        if dead:
            # A crash must not bring back somebody who needs them.
            self._ledger.end_turn()
            yield self._ledger.end
            log.delete(dead)
        for base, end in old:
            if 0 < live.get(base, 0) < live_enough * (end - base):
                yield from self._empty(base, end)
                log.delete([base])

    def _live_bytes(self, segments: list[tuple[int, int]]) -> Generator[int, None, dict[int, float]]:
        """An estimate of what is needed in each of these segments, by its base; those that nobody needs are not there.

        Meanwhile chunks may come, grow at their end and go. None gets into these segments: only upkeep moves messages.
        """
        bases = [base for base, _ in segments]
        live: dict[int, float] = {}
        looked = 0
        for cursor in list(self._ledger.cursors.values()) if segments else ():
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
        """Copy what is needed in a segment to the end of the log."""
        ledger = self._ledger
        found: dict[int, list[MovedRun]] = {}
        position = base
        while records := ledger.reader.read(position, _READ_AT_ONCE, end):
            position = records[-1].end
            for record in chain.from_iterable(map(records_in, records)):
                if record.kind == log_kinds.MESSAGES:
                    self._copy(record, found)
            yield 0
        runs = [run for number, runs in found.items() if number in ledger.cursors for run in runs]
        if runs:
            ledger.moved(base, end, runs)
        ledger.end_turn()  # that nobody needs the rest has to be safe, too
        yield ledger.end

    def _copy(self, record: Record, found: dict[int, list[MovedRun]]) -> None:
        """Copy a record for those who still wait for it; `found` is which messages of whom the segment had."""
        here: list[tuple[int, int]] = []
        live: list[tuple[int, int]] = []
        needed = Ranges()
        receivers = receivers_of(record.body)
        for number, offset in zip(receivers.cursors, receivers.offsets, strict=True):
            cursor = self._ledger.cursors.get(number)
            chunk = cursor.chunk_of(offset) if cursor else None
            if cursor is None or chunk is None or not chunk.start <= record.position < chunk.end:
                continue  # done with, or another copy of it is the one that counts
            here.append((number, offset))
            if cursor.pending_within(offset, offset + record.count):
                live.append((number, offset))
                for lo, hi in cursor.pending_ranges_within(offset, offset + record.count):
                    needed.add(lo - offset, hi - offset)
        start = end = 0
        if live:
            columns = Receivers([number for number, _ in live], [offset for _, offset in live], [0] * len(live))
            start, end = self._ledger.copy(record, columns, needed)
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
