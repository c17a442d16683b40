"""A unit of work: puts, gets and publications of which all or none happen.

Theory of operation
1. Until the commit nothing takes effect. Puts count in their queue (depth, memory) but are not visible. Messages that
   are settled stay locked (`IN_WORK`). Publications are kept as actions.
2. `commit` first looks for obstacles: too many messages, a deleted queue, a log that cannot be written. If there is
one,
   everything is rolled back, and `done` gets the reason. After this check nothing may be refused any more.
3. Everything to store is written as one group of the log (`together`): puts, acknowledgements of gets, and what
   publications store. Meanwhile (`committing`), messages that these publications put into queues stay invisible.
4. When the group is safe, everything takes effect at once: gets are gone, rejected and released messages go back, puts
   become visible, and `done` is called. Without a log, or with nothing to store, that happens right away.
5. If writing fails, nothing of the group is stored, everything is rolled back, and the exception is raised to the
caller
   of `commit`.
6. `roll_back` returns gets to their places, each as a failed delivery. A unit of work ends once: afterwards it is
   `over`, refuses everything, and messages that are settled in it count as failed.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from heliograph.broker.core.memory import Account
from heliograph.broker.errors import Refusal, Refused
from heliograph.broker.queues import refusal
from heliograph.broker.queues.consumer import FAILED, Consumer, Outcome
from heliograph.broker.queues.entry import IN_WORK, NOT_STORED, TAKEN, Entry
from heliograph.broker.queues.queue import Queue
from heliograph.broker.queues.queue_writes import QueueWrites
from heliograph.broker.queues.statistics import UnitOfWorkCounters

LIMIT = 10_000
"""Messages in one unit of work."""
LARGEST = 256 << 20
"""Bytes of messages put or published in one unit of work, which wait in memory. The first one may be larger."""
_COST = 2_000
"""Bytes of memory that an empty unit of work takes."""
_MESSAGE_COST = 100


class UnitOfWorkHost(Protocol):
    """All queues, as far as a unit of work needs them."""

    committing: bool
    """Whether a unit of work is being written: nothing of it may become visible before all of it is safe."""

    @property
    def works(self) -> UnitOfWorkCounters:
        """What is counted of units of work."""

    @property
    def writes(self) -> QueueWrites | None:
        """What is written to the log for queues; None for a broker that keeps everything in memory."""

    @property
    def trouble(self) -> Refusal | None:
        """Why nothing can be stored at present."""

    def together(self) -> AbstractContextManager[None]:
        """A context whose records are one unit: after a crash all of them are there, or none."""

    def when_safe(self, action: Callable[[], None]) -> None:
        """Do this when the turn is safe."""


class UnitOfWork:
    """Made by `Queues.begin`. Handed to `Queue.put(work=...)` and `Queue.settle(work=...)`; `publish` is for topics."""

    def __init__(self, queues: UnitOfWorkHost, limit: int, *, moves: bool, account: Account | None) -> None:
        """`moves`: it only moves messages to another queue, so gets are not counted.

        Memory is charged to the account.
        """
        self._hold = account.hold(_COST) if account is not None else None
        if account is not None and self._hold is None:
            raise Refused(refusal.FULL, "there is no memory for another unit of work")
        self._queues = queues
        self._limit = limit
        self._moves = moves
        self._puts: dict[Queue, list[Entry]] = {}
        self._gets: dict[Queue, list[Entry]] = {}
        self._refused: list[tuple[Queue, list[Entry], Outcome, Consumer | None]] = []
        """Messages that were settled, but not accepted."""
        self._publications: list[Callable[[], None]] = []
        self._count = 0
        self._size = 0
        self._too_much: Refusal | None = None
        self.over = False
        """Whether it has been committed or rolled back."""
        if not moves:
            queues.works.open += 1

    def publish(self, count: int, action: Callable[[], None], size: int = 0) -> Refusal | None:
        """Do this at the commit: a publication of `count` messages of `size` bytes.

        What it stores is part of the group.
        """
        if too_much := self._add(count, size, size):
            return too_much
        self._publications.append(action)
        return None

    def add_puts(self, queue: Queue, entries: list[Entry]) -> Refusal | None:
        """Put these at the commit; called by the queue."""
        # Messages that are not persistent are charged to the queue already.
        kept = sum([entry.size for entry in entries if entry.offset == NOT_STORED])
        if too_much := self._add(len(entries), sum([entry.size for entry in entries]), kept):
            return too_much
        self._puts.setdefault(queue, []).extend(entries)
        return None

    def add_settled(self, queue: Queue, entries: list[Entry], outcome: Outcome, consumer: Consumer | None) -> None:
        """Settle these at the commit; called by the queue.

        A settlement has no answer that could refuse it. So if it is too much, the commit is refused.
        """
        if self.over:
            queue.back(entries, FAILED, consumer)
            return
        if too_much := self._add(len(entries)):
            self._too_much = too_much
        for entry in entries:
            entry.state = IN_WORK
        if outcome.accepted:
            self._gets.setdefault(queue, []).extend(entries)
        else:
            self._refused.append((queue, entries, outcome, consumer))

    def _add(self, count: int, size: int = 0, kept: int = 0) -> Refusal | None:
        """Count messages of `size` bytes, of which `kept` bytes are in memory because of the unit of work."""
        if self.over:
            return Refusal(refusal.ROLLED_BACK, "the unit of work is over")
        if self._count + count > self._limit:
            return Refusal(refusal.FULL, f"a unit of work has at most {self._limit} messages")
        if self._size and self._size + size > LARGEST:
            return Refusal(refusal.FULL, f"a unit of work has at most {LARGEST >> 20} MB of messages")
        if self._hold is not None:
            kept += _MESSAGE_COST * count
            if not self._hold.account.has_room(kept):
                return Refusal(refusal.FULL, "there is no memory for more messages in units of work")
            self._hold.set(self._hold.size + kept)
        self._count += count
        self._size += size
        return None

    # The end.

    def commit(self, done: Callable[[Refusal | None], None]) -> None:
        """Commit. `done(None)` is called when it is safe, `done(refusal)` if it was rolled back instead."""
        if obstacle := self._obstacle():
            self.roll_back()
            done(obstacle)
            return
        writes = self._queues.writes
        if writes is None or not (self._is_stored or self._publications):
            self._end(committed=True)
            for action in self._publications:
                action()
            self._happened()
            done(None)
            return
        try:
            with self._queues.together():
                # From here on, what publications put into queues stays invisible until the group is safe
                # (`Queues.place`).
                self._queues.committing = True
                try:
                    self._write(writes)
                finally:
                    self._queues.committing = False
        except Exception:
            self.roll_back()
            raise
        self._end(committed=True)
        self._queues.when_safe(lambda: self._safe(done))

    def _end(self, *, committed: bool) -> None:
        self.over = True
        if self._moves:
            return
        works = self._queues.works
        works.open -= 1
        works.committed += committed
        works.rolled_back += not committed

    def _safe(self, done: Callable[[Refusal | None], None]) -> None:
        self._happened()
        done(None)

    def _obstacle(self) -> Refusal | None:
        """Why it cannot be committed; None if it can."""
        if self.over:
            return Refusal(refusal.ROLLED_BACK, "the unit of work is over")
        if self._too_much is not None:
            return self._too_much
        for queue in (*self._puts, *self._gets):
            if queue.deleted:
                return Refusal(refusal.ROLLED_BACK, f"queue {queue.name} has been deleted")
        return self._queues.trouble if self._is_stored or self._publications else None

    @property
    def _is_stored(self) -> bool:
        """Whether it has something to store."""
        return any(entry.offset == NOT_STORED for entries in self._puts.values() for entry in entries) or any(
            entry.offset >= 0 for entries in self._gets.values() for entry in entries
        )

    def _write(self, writes: QueueWrites) -> None:
        for queue, entries in self._puts.items():
            if stored := [entry for entry in entries if entry.offset == NOT_STORED]:
                writes.store({queue: stored})
        for queue, entries in self._gets.items():
            if queue.storage is not None and (offsets := [entry.offset for entry in entries if entry.offset >= 0]):
                writes.acknowledge(queue.storage.cursor, offsets)
        for action in self._publications:
            action()

    def _happened(self) -> None:
        for queue, entries in self._gets.items():
            if not queue.deleted:
                queue.gone(entries, logged=True, got=not self._moves)
        for queue, entries, outcome, consumer in self._refused:
            queue.back(entries, outcome, consumer)
        for queue, entries in self._puts.items():
            queue.show(entries)
        self._hold = None

    def roll_back(self, outcome: Outcome = FAILED) -> None:
        """Drop the puts, and return the gets to their places: each counts as a failed delivery.

        The outcome is LOST if the client has disconnected without asking for it.
        """
        if self.over:
            return
        self._end(committed=False)
        self._hold = None
        for queue, entries in self._puts.items():
            queue.forget_puts(entries)
        for queue, entries in self._gets.items():
            if self._moves:  # the caller that wanted to move them still has them locked
                for entry in entries:
                    entry.state = TAKEN
            else:
                queue.back(entries, outcome)
        for queue, entries, _, _ in self._refused:
            queue.back(entries, outcome)
