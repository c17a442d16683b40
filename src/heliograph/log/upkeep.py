"""Upkeep: checkpoints, so that a log is opened quickly, and giving back the room of what nobody needs.

All of it is done bit by bit, between other things: a checkpoint of a million sessions must not hold up a message.
"""

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import chain

from heliograph.log.account import ACKS, MESSAGES, Moved
from heliograph.log.cursor import CHUNK_SIZE
from heliograph.log.ledger import Ledger
from heliograph.log.messages import Receivers, decode_messages, receivers_of
from heliograph.log.record import Record

CHECKPOINT_AFTER = 32 << 20
"""Bytes of log after which a checkpoint is worth its price; more if the last one was large."""
_CHECKPOINT_SHARE = 4
_LOOK_AFTER = 8 << 20
_LIVE_ENOUGH = 0.25
"""A segment of which less is needed than this is emptied: what is needed is copied, and it is deleted."""
_WORTH_COMPACTING = 0.9
"""The same when somebody asks for it."""

Fact = tuple[int, bytes]
"""Kind and body of a record."""


class Upkeep:
    """Looks after one ledger."""

    def __init__(self, ledger: Ledger, facts: Callable[[], Iterator[Fact]]) -> None:
        """`facts` gives all that the ledger's user knows, for a checkpoint; it is taken bit by bit."""
        self._ledger = ledger
        self._facts = facts
        self._looked_at = ledger.end
        self._freed = 0
        self._work: Iterator[int] | None = None

    def freed(self, size: int) -> None:
        """So many bytes are not needed any more, and the log may not grow: look for segments to delete without that."""
        self._freed += size

    def work(self, seconds: float) -> None:
        """Spend at most about this much time, if there is something to do."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self._work is None:
                self._work = self._next()
                if self._work is None:
                    return
            waits_for = next(self._work, None)
            if waits_for is None:
                self._work = None
            elif waits_for > self._ledger.safe:
                return

    def _next(self) -> Iterator[int] | None:
        ledger = self._ledger
        if ledger.end - ledger.checkpoint > max(CHECKPOINT_AFTER, _CHECKPOINT_SHARE * ledger.checkpoint_size):
            return self._checkpoint()
        if ledger.end - self._looked_at + self._freed > _LOOK_AFTER:
            self._looked_at, self._freed = ledger.end, 0
            return self._tidy(_LIVE_ENOUGH)
        return None

    def checkpoint(self) -> None:
        """Write down all that is known, at once."""
        self._finish(self._checkpoint())

    def compact(self) -> None:
        """Give back all the room that is not needed, at once; but do not copy much to gain little."""
        log = self._ledger.log
        log.rotate(log.replay_position)  # a segment of its own for the checkpoint: those before it can all go
        self.checkpoint()
        # It counts once a segment says so, and that is made with the next record.
        log.append(ACKS)
        self._ledger.wait()
        self._finish(self._tidy(_WORTH_COMPACTING))

    def _finish(self, work: Iterator[int]) -> None:
        for waits_for in chain(self._work or (), work):
            if waits_for > self._ledger.safe:
                self._ledger.wait()
        self._work = None

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
        ledger.note_complete(start)
        ledger.end_turn()
        yield ledger.end
        ledger.log.rotate(start)

    def _tidy(self, live_enough: float) -> Iterator[int]:
        log = self._ledger.log
        live = self._live_bytes()
        old = [(base, end) for base, end in log.segments()[:-1] if end <= log.replay_position]
        log.delete([base for base, _ in old if base not in live])
        for base, end in old:
            if 0 < live.get(base, 0) < live_enough * (end - base):
                yield from self._empty(base, end)
                log.delete([base])

    def _live_bytes(self) -> dict[int, float]:
        """An estimate of what is needed in each segment, by its base; those that nobody needs are not there."""
        segments = self._ledger.log.segments()
        bases = [base for base, _ in segments]
        live: dict[int, float] = {}
        for cursor in self._ledger.cursors.values():
            for chunk in cursor.chunks:
                pending = cursor.pending_within(chunk.first, chunk.next)
                size = chunk.size * pending / (chunk.next - chunk.first) / max(1, chunk.end - chunk.start)
                first, last = (bisect_right(bases, at) - 1 for at in (chunk.start, chunk.end - 1))
                for base, end in segments[max(0, first) : last + 1]:
                    if end > chunk.start:
                        overlap = min(end, chunk.end) - max(base, chunk.start)
                        live[base] = live.get(base, 0) + max(1.0, size * overlap)
        return live

    def _empty(self, base: int, end: int) -> Iterator[int]:
        """Copy what is needed in a segment to the end of the log."""
        position = base
        while position < end:
            position = self._empty_some(position, end)
            yield 0
        self._ledger.end_turn()
        yield self._ledger.end

    def _empty_some(self, gone_from: int, end: int) -> int:
        """Copy what is needed in a chunk's worth of log, so that the copies are small chunks too; how far that is."""
        ledger = self._ledger
        start, position = ledger.end, gone_from
        found: dict[int, list[Moved]] = {}
        for record in ledger.reader.read(gone_from, CHUNK_SIZE, end):
            position = record.end
            if record.kind == MESSAGES:
                self._copy(record, found)
        if found:
            ledger.moved(gone_from, position, start, ledger.end, [one for ranges in found.values() for one in ranges])
        return position

    def _copy(self, record: Record, found: dict[int, list[Moved]]) -> None:
        """Copy a record for those who still wait for it; `found` is which offsets of whom were there."""
        live: list[tuple[int, int]] = []
        receivers = receivers_of(record.body)
        for number, offset in zip(receivers.cursors, receivers.offsets, strict=True):
            cursor = self._ledger.cursors.get(number)
            chunk = cursor.chunk_of(offset) if cursor else None
            if cursor is None or chunk is None or not chunk.start <= record.position < chunk.end:
                continue  # done with, or another copy of it is the one that counts
            _extend(found.setdefault(number, []), number, offset, offset + record.count, record.end - record.position)
            if cursor.pending_within(offset, offset + record.count):
                live.append((number, offset))
        if live:
            columns = Receivers([number for number, _ in live], [offset for _, offset in live], [0] * len(live))
            self._ledger.copy(decode_messages(record.body, record.count), columns, record.time)


def _extend(ranges: list[Moved], number: int, lo: int, hi: int, size: int) -> None:
    """Put offsets behind those found before.

    They need not follow each other: a segment may have copies of old messages beside new ones, and what came between
    the two stands in other segments and stays there.
    """
    if ranges and ranges[-1][2] == lo:
        _, lo, _, before = ranges.pop()
        size += before
    ranges.append((number, lo, hi, size))
