"""A queue: putting messages, consumers, and settling. `queue_contents` has the state of the messages."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Protocol

from heliograph.broker.core.queue_definition import Order, QueueDefinition
from heliograph.broker.core.slices import ENOUGH, Steps
from heliograph.broker.errors import Refusal
from heliograph.broker.queues import refusal
from heliograph.broker.queues.admission import admit
from heliograph.broker.queues.consumer import FAILED, Consumer, Outcome
from heliograph.broker.queues.entry import GONE, IN_WORK, TAKEN, Entry, cost_of
from heliograph.broker.queues.queue_contents import ContentsHost, QueueContents
from heliograph.broker.queues.queue_storage import QueueStorage
from heliograph.broker.queues.refusal import Put
from heliograph.broker.queues.statistics import QueueStatistics

_INDEXED_AT_ONCE = 500
"""A queue with at most so many messages gets an index of correlation ids as soon as a consumer can use one."""
_FORGOTTEN_AT_ONCE = 500


class OpenUnitOfWork(Protocol):
    """A unit of work, as queues see it."""

    def add_puts(self, queue: "Queue", entries: list[Entry]) -> Refusal | None:
        """Put these at the commit. Returns a refusal, or None."""

    def add_settled(self, queue: "Queue", entries: list[Entry], outcome: Outcome, consumer: Consumer | None) -> None:
        """Settle these at the commit."""


class QueueHost(ContentsHost, Protocol):
    """All queues, as far as one of them needs the others."""

    @property
    def writes(self) -> object:
        """What is written to the log for queues; None for a broker that keeps everything in memory."""

    @property
    def trouble(self) -> Refusal | None:
        """Why no persistent message can be taken at present."""

    def place(self, runs: "dict[Queue, list[Entry]]") -> bool:
        """Make messages visible that need not be stored, and gather the others. Returns whether there are others."""

    def open_storage(self, queue: "Queue") -> None:
        """Make the storage of a queue in the log, unless it has one."""

    def note_shown(self, queue: "Queue", entries: list[Entry]) -> None:
        """Persistent messages have become visible."""

    def do_in_slices(self, owner: object, steps: Steps) -> None:
        """Do this in slices."""

    def move_to_dead_letters(self, queue: "Queue", entries: list[Entry], reason: str, *, backed_out: bool) -> bool:
        """Move locked messages to a dead-letter queue; False if there is none for them now."""


class Queue(QueueContents):
    """Found or made by `Queues`. All methods take several messages at once.

    Messages are delivered to consumers at the end of the turn in which they were put; persistent ones when they are
    safe.
    """

    def __init__(
        self, queues: QueueHost, definition: QueueDefinition, storage: QueueStorage | None, creator: object = None
    ) -> None:
        super().__init__(queues, definition, storage)
        self._queues = queues
        self.creator = creator
        """Of a temporary queue: the link or connection with which it is deleted."""
        self.keeps = queues.writes is not None and not definition.temporary
        """Whether persistent messages go to the log."""

    # Putting.

    def put(self, messages: Sequence[bytes], *, work: OpenUnitOfWork | None = None, patient: bool = False) -> Put:
        """Put encoded messages. Returns which were refused, and whether the sender must wait until the turn is safe.

        In a unit of work they are neither visible nor stored before the commit. With `patient`, messages that cannot be
        stored at present are accepted, and stored later. ProtocolError, and none is put, if one of them is malformed.
        """
        entries, refused = admit(self, messages, self._queues, patient=patient)
        if work is not None and entries and (too_much := work.add_puts(self, entries)):
            self.counters.refused += len(entries)
            return Put(dict.fromkeys(range(len(messages)), too_much), stored=False)
        self.note_put(entries, cost_of(entries))
        stored = work is None and bool(entries) and self._queues.place({self: entries})
        if refused:
            return Put(refused, stored)
        return refusal.STORED if stored else refusal.TAKEN

    def takes(self, number: int) -> bool:
        """Whether so many messages may be put."""
        return self.definition.put_enabled and self.depth + number <= self.definition.max_depth

    def note_put(self, entries: Sequence[Entry], cost: int) -> None:
        """Count messages, with their `cost` in memory, as being in the queue."""
        number = len(entries)
        self.account.add(cost)
        self.depth += number
        counters = self.counters
        counters.put += number
        counters.high_water = max(counters.high_water, self.depth)

    def forget_puts(self, entries: list[Entry]) -> None:
        """Discount messages whose unit of work was rolled back."""
        if not self.deleted:
            self.account.refund(cost_of(entries))
        self.depth -= len(entries)
        self.counters.put -= len(entries)

    def show(self, entries: list[Entry]) -> None:
        """Make messages visible to consumers, except delayed ones."""
        if self.deleted or not entries:
            return
        if self.storage is not None:
            entries = self._show_stored(self.storage, entries)
        self.take_up(entries)

    def _show_stored(self, storage: QueueStorage, entries: list[Entry]) -> list[Entry]:
        """The entries that become visible now. Without loading, persistent ones only stay in the log."""
        persistent = [entry for entry in entries if entry.offset >= 0]
        if not storage.loaded and (len(persistent) == len(entries) or not self.load()):
            if self._queues.loading is not None:
                storage.late += entries
                return []
            return self.leave_in_log(storage, entries)
        if persistent:
            self.keep_in_storage(storage, persistent)
        return entries

    def keep_in_storage(self, storage: QueueStorage, persistent: list[Entry]) -> None:
        """Persistent messages are safe: their payloads stay in memory while there is room."""
        storage.show(persistent)
        self._queues.note_shown(self, persistent)

    def leave_in_log(self, storage: QueueStorage, entries: list[Entry]) -> list[Entry]:
        """Keep only entries that are not persistent: the queue is not loaded, and loading finds the others."""
        if persistent := [entry for entry in entries if entry.offset >= 0]:
            storage.shown = persistent[-1].offset + 1
            self._queues.wake(self)
            self.account.refund(cost_of(persistent))
        return [entry for entry in entries if entry.offset < 0]

    def open_storage(self) -> None:
        """Make its storage in the log, unless it has one."""
        self._queues.open_storage(self)

    # Loading messages from the log.

    def load_in_steps(self) -> Steps:
        """Wait until all messages are loaded, or loading has failed."""
        if not self.load():
            loading = self._queues.loading
            while loading is not None and self._queues.loading is loading:
                yield ENOUGH

    def let_time_go_on(self) -> None:
        """Loading has ended: messages may expire and become due again."""
        if self._timetable is not None:
            self._timetable.looked()

    def look_further(self) -> None:
        """Loading has ended: deliver to the consumers that waited."""
        self.hand_out()
        self.consumers.look_further()

    # Consumers.

    def add_consumer(self, consumer: Consumer) -> Refusal | None:
        """Add a consumer. Returns a refusal, or None."""
        if self.deleted:
            return Refusal(refusal.DELETED, f"queue {self.name} has been deleted")
        if not self.definition.get_enabled:
            return Refusal(refusal.NOT_ALLOWED, f"queue {self.name} is not enabled for gets")
        if self.definition.exclusive and not consumer.browse and any(not one.browse for one in self.consumers):
            return Refusal(refusal.LOCKED, f"queue {self.name} takes one consumer at a time, and there is one")
        # Indexing a deep queue would take long: there, the selector of the consumer is used, in slices.
        if consumer.correlation_id is not None and (consumer.selector is None or self.depth <= _INDEXED_AT_ONCE):
            self._build_index()
        self.consumers.add(consumer)
        self._queues.wake(self)
        return None

    def remove_consumer(self, consumer: Consumer) -> None:
        """Remove a consumer. The caller settles the messages that it has not settled."""
        self.consumers.remove(consumer)
        if self.storage is not None and not len(self.consumers):
            self.storage.rest()

    def serve(self, consumer: Consumer) -> None:
        """Deliver to a consumer whose credit has grown, at once: a draining link needs to know what there is."""
        if self.definition.get_enabled and not self.deleted:
            if self.load():
                self.consumers.serve(consumer)
            elif self.is_loading:
                self.consumers.put_off(consumer)

    def hand_out(self) -> None:
        """Deliver messages to the consumers."""
        may_get = self.consumers and self.definition.get_enabled and not self.deleted
        if may_get and (self.storage is None or self.storage.loaded or self.load()):
            self.consumers.share_out()

    def is_behind(self, consumer: Consumer) -> bool:
        """Whether there may be more for a consumer, which ran out of time to look."""
        return self.consumers.is_behind(consumer)

    def could_not_deliver(self, consumer: Consumer, entries: list[Entry]) -> None:
        """Delivering to a consumer has failed: remove it, and give the messages to others."""
        self.remove_consumer(consumer)
        if not consumer.browse:
            self.settle(entries, FAILED, consumer=consumer)
        consumer.failed()

    # Settling.

    def settle(
        self,
        entries: Sequence[Entry],
        outcome: Outcome,
        *,
        work: OpenUnitOfWork | None = None,
        consumer: Consumer | None = None,
    ) -> None:
        """Settle messages that were delivered to a consumer. Those that are settled already are left alone.

        In a unit of work it takes effect at the commit.
        """
        entries = [entry for entry in entries if entry.state == TAKEN]
        if work is not None:
            work.add_settled(self, entries, outcome, consumer)
        elif outcome.accepted:
            self.gone(entries)
        else:
            self.back(entries, outcome, consumer)

    def back(self, entries: list[Entry], outcome: Outcome, consumer: Consumer | None = None) -> None:
        """Return messages that were not accepted to their places, or make them dead letters."""
        if self.deleted or not entries:
            return
        if outcome.failed or outcome.rejected:
            for entry in entries:
                entry.deliveries += 1
            if self.storage is not None:
                self.storage.note_failed(entries)
        if outcome.undeliverable_here and consumer is not None:
            for entry in entries:
                self.consumers.bar(consumer, entry)
        threshold = self.definition.backout_threshold
        if outcome.rejected:
            dead, reason = entries, outcome.reason or "rejected"
        elif threshold and outcome.failed:
            # A consumer that was lost had several messages; perhaps one of them is at fault. So after a
            # lost delivery a message gets one more attempt than after a failed one.
            most = threshold + outcome.lost
            dead, reason = [entry for entry in entries if entry.deliveries >= most], "backout threshold reached"
        else:
            dead, reason = [], ""
        if dead and self._queues.move_to_dead_letters(self, dead, reason, backed_out=not outcome.rejected):
            entries = [entry for entry in entries if entry.state not in {IN_WORK, GONE}]
        elif dead and consumer is not None:  # no dead-letter queue: do not redeliver them for ever
            for entry in dead:
                self.consumers.bar(consumer, entry)
        self.unlock(entries)

    # Statistics and changes.

    def purge(self, most: int = 1 << 64) -> int:
        """Remove at most `most` messages that are not locked. Returns how many."""
        if not self.load():
            return 0
        entries: list[Entry] = []
        for lane in self.lanes:
            entries += lane.take(most - len(entries))
        if self._timetable is not None:
            entries += self._timetable.take_delayed(most - len(entries))
        self._forget(entries)
        return len(entries)

    def statistics(self) -> QueueStatistics:
        """Figures of this moment."""
        waiting = [entry.put_at for lane in self.lanes if (entry := lane.first())]
        oldest = (
            self.storage.oldest if self.storage is not None and not self.storage.loaded else min(waiting, default=0)
        )
        return QueueStatistics(
            depth=self.depth,
            in_flight=self.in_flight,
            delayed=self._timetable.delayed if self._timetable is not None else 0,
            consumers=len(self.consumers),
            oldest_age=max(0, self._queues.now() - oldest) / 1000 if oldest else 0.0,
            **asdict(self.counters),
        )

    def alter(self, definition: QueueDefinition) -> None:
        """Change the attributes."""
        if definition.order is not self.definition.order:
            self.lanes.clear()
            self._lane_of.clear()
            self._fifo = definition.order is Order.FIFO
        self.definition = definition
        self._queues.wake(self)

    def end(self) -> None:
        """The queue was deleted. Settling messages that are still locked has no effect."""
        self.deleted = True
        self.index = None
        if self.storage is not None:
            self.storage.late.clear()
        self.account.refund(self.account.used)
        for consumer in self.consumers:
            self.consumers.remove(consumer)
            consumer.ended(Refusal(refusal.DELETED, f"queue {self.name} has been deleted"))
        self._queues.do_in_slices(self, self._let_go_of_all())

    def _let_go_of_all(self) -> Steps:
        """Free the messages in slices: there may be a million."""
        for lane in self.lanes:
            while some := lane.take(_FORGOTTEN_AT_ONCE):
                if self.storage is not None:
                    self.storage.forget(some)
                yield None
