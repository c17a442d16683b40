"""A queue: messages in order, and those who want them."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from heliograph.broker.core.queue_definition import Order, QueueDefinition
from heliograph.broker.core.slices import ENOUGH, Steps
from heliograph.broker.queues import dead_letters, refusal
from heliograph.broker.queues.admission import admit
from heliograph.broker.queues.browsing import browse
from heliograph.broker.queues.consumer import Consumer, Selector
from heliograph.broker.queues.consumers import Consumers
from heliograph.broker.queues.correlation import CorrelationIndex
from heliograph.broker.queues.entry import (
    GONE,
    IN_WORK,
    PENDING,
    TAKEN,
    WAITING,
    Entry,
    cost_of,
)
from heliograph.broker.queues.lane import Lane
from heliograph.broker.queues.message_timers import Timetable
from heliograph.broker.queues.outcome import FAILED, Outcome
from heliograph.broker.queues.queue_storage import Shelf
from heliograph.broker.queues.refusal import Put, Refusal
from heliograph.broker.queues.statistics import Counters, QueueStatistics
from heliograph.broker.queues.unit_of_work import Work
from heliograph.errors import Problem

if TYPE_CHECKING:
    from heliograph.broker.queues.queues import Queues


_INDEXED_AT_ONCE = 500
"""A queue that has no more messages than this gets an index of them as soon as somebody has a use for one."""
_EXPIRED_AT_ONCE = 1000
_FORGOTTEN_AT_ONCE = 500


class Queue:
    """Found or made by `Queues`. Everything takes runs.

    What was put is handed to consumers at the end of the turn, persistent messages when they are safe.
    """

    def __init__(
        self, queues: "Queues", definition: QueueDefinition, shelf: Shelf | None, creator: object = None
    ) -> None:
        self.definition = definition
        self.creator = creator
        """Of a temporary queue: who made it, and takes it along."""
        self.keeps = queues.writes is not None and not definition.temporary
        """Whether persistent messages go to the log."""
        self.shelf: Shelf | None = shelf
        """Its persistent messages in the log; None until the first one comes."""
        self.depth = shelf.pending if shelf is not None else 0
        """Messages in the queue, whoever has them, and those of units of work that are not committed."""
        self.account = queues.account_for(definition.name)
        """What it takes of the server's memory."""
        self.in_flight = 0
        self.deleted = False
        self.counters = Counters(high_water=self.depth)
        self.consumers = Consumers(self)
        self.index: CorrelationIndex | None = None
        self.lanes: list[Lane] = []
        """Highest priority first."""
        self._lane_of: dict[int, Lane] = {}
        self._fifo = definition.order is Order.FIFO
        self._queues = queues
        self._timetable: Timetable | None = None

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def waiting(self) -> int:
        """Messages that are there for whoever wants them."""
        lanes = self.lanes
        return lanes[0].count if len(lanes) == 1 else sum([lane.count for lane in lanes])

    # Putting

    def put(self, messages: Sequence[bytes], *, work: Work | None = None, patient: bool = False) -> Put:
        """Put encoded messages; which of them were refused, and whether the sender is to be told only when it is safe.

        In a unit of work nobody sees them, and nothing is stored, before it is committed. With `patient`, messages that
        cannot be stored at present are taken all the same, and stored when they can be. ProtocolError, and none is put,
        if one of them is no message.
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
        """These messages, which take so many bytes of memory, count as being in the queue from now on."""
        number = len(entries)
        self.account.add(cost)
        self.depth += number
        counters = self.counters
        counters.put += number
        counters.high_water = max(counters.high_water, self.depth)

    def show(self, entries: list[Entry]) -> None:
        """Everybody may see these messages from now on, all but those that are delayed."""
        if self.deleted or not entries:
            return
        if self.shelf is not None:
            entries = self._show_on_shelf(self.shelf, entries)
        self.take_up(entries)

    def take_up(self, entries: list[Entry]) -> None:
        """These are known, and what came before them: they wait for whoever wants them, unless they are delayed."""
        for entry in entries:
            if entry.expires or entry.deliver_at:
                entries = self._note_times(entries)
                break
        self._line_up(entries)

    def _note_times(self, entries: list[Entry]) -> list[Entry]:
        """Which of some entries are not delayed. What time does to all of them is known from now on."""
        if expiring := [entry for entry in entries if entry.expires]:
            self.timetable.add_expiring(expiring, self.depth)
        if delayed := [entry for entry in entries if entry.deliver_at]:
            now = self._queues.now()
            delayed = [entry for entry in delayed if entry.deliver_at > now]
            self.timetable.add_delayed(delayed)
            later = set(delayed)
            entries = [entry for entry in entries if entry not in later]
        return entries

    def _show_on_shelf(self, shelf: Shelf, entries: list[Entry]) -> list[Entry]:
        """Which of some entries, that may be seen from now on, are to be known here."""
        persistent = [entry for entry in entries if entry.offset >= 0]
        if not shelf.loaded and (len(persistent) == len(entries) or not self.load()):
            if self._queues.loading is not None:
                shelf.late += entries
                return []
            return self.leave_in_log(shelf, entries)
        if persistent:
            self.keep_on_shelf(shelf, persistent)
        return entries

    def keep_on_shelf(self, shelf: Shelf, persistent: list[Entry]) -> None:
        """These are safe, and known: their payloads stay in memory while there is room."""
        shelf.show(persistent)
        self._queues.note_shown(self, persistent)

    def leave_in_log(self, shelf: Shelf, entries: list[Entry]) -> list[Entry]:
        """As long as nobody has looked into the queue, only these need be known: whoever does finds the others."""
        if persistent := [entry for entry in entries if entry.offset >= 0]:
            shelf.shown = persistent[-1].offset + 1
            self._queues.wake(self)
            self.account.refund(cost_of(persistent))
        return [entry for entry in entries if entry.offset < 0]

    # Getting to know what is in the log

    def load(self) -> bool:
        """See to it that all messages are known, those in the log too; False if they are not, yet or for some reason.

        In the first case consumers are called when they are.
        """
        return self.shelf is None or self.shelf.loaded or self._queues.load(self)

    def load_in_steps(self) -> Steps:
        """Wait until all messages are known, or cannot be."""
        if not self.load():
            loading = self._queues.loading
            while loading is not None and self._queues.loading is loading:
                yield ENOUGH

    @property
    def is_loading(self) -> bool:
        """Whether the queue gets to know its messages just now."""
        return self.shelf is not None and not self.shelf.loaded and self._queues.loading is not None

    def let_time_go_on(self) -> None:
        """Nobody goes through the log for it any more: from now on messages expire, and delayed ones come."""
        if self._timetable is not None:
            self._timetable.looked()

    def look_further(self) -> None:
        """Those who had to wait until all messages are known get what there is."""
        self.hand_out()
        self.consumers.look_further()

    # What has come in

    def _line_up(self, entries: list[Entry]) -> None:
        if not entries:
            return
        if self._fifo:
            self._lane(0).append(entries)
        elif len(entries) == 1 or len({entry.priority for entry in entries}) == 1:
            self._lane(entries[0].priority).append(entries)
        else:
            for priority, same in _by_priority(entries).items():
                self._lane(priority).append(same)
        if self.index is not None and (fetched := self.fetch(entries)) is not None:
            self.index.add(entries)
            self.let_go(fetched)
            self.consumers.note_ids(entries)
        self._queues.wake(self)

    def _lane(self, priority: int) -> Lane:
        lane = self._lane_of.get(priority)
        if lane is None:
            lane = self._lane_of[priority] = Lane(priority)
            self.lanes.append(lane)
            self.lanes.sort(key=lambda lane: -lane.priority)
        return lane

    @property
    def timetable(self) -> Timetable:
        """What time does to its messages."""
        if self._timetable is None:
            self._timetable = Timetable(self._queues.set_timer, self._time_has_come)
        return self._timetable

    def _time_has_come(self) -> None:
        if self.deleted or self.is_loading:
            return
        timetable, now = self.timetable, self._queues.now()
        try:
            self._line_up(timetable.take_due(now, _EXPIRED_AT_ONCE))
            expired = timetable.take_expired(now, _EXPIRED_AT_ONCE)
            self._take_out([entry for entry in expired if entry.state == WAITING])
            self._expire([entry for entry in expired if entry.state in {WAITING, PENDING}])
        finally:
            if timetable.is_due(now):  # many at once: others have their turn
                self._queues.do_later(timetable, self._time_has_come)
            else:
                timetable.looked()  # whatever went wrong, the others have their time

    # Consumers

    def add_consumer(self, consumer: Consumer) -> Refusal | None:
        """From now on a consumer gets messages, in turn with the others; why not, otherwise."""
        if self.deleted:
            return Refusal(refusal.DELETED, f"queue {self.name} has been deleted")
        if not self.definition.get_enabled:
            return Refusal(refusal.NOT_ALLOWED, f"queue {self.name} is not enabled for gets")
        if self.definition.exclusive and not consumer.browse and any(not one.browse for one in self.consumers):
            return Refusal(refusal.LOCKED, f"queue {self.name} takes one consumer at a time, and there is one")
        # To take up a deep queue would take long: there it is looked for as any selector does, bit by bit.
        if consumer.correlation_id is not None and (consumer.selector is None or self.depth <= _INDEXED_AT_ONCE):
            self._build_index()
        self.consumers.add(consumer)
        self._queues.wake(self)
        return None

    def remove_consumer(self, consumer: Consumer) -> None:
        """It gets nothing more. What it has not settled has to be settled by whoever removes it."""
        self.consumers.remove(consumer)
        if self.shelf is not None and not len(self.consumers):
            self.shelf.rest()

    def serve(self, consumer: Consumer) -> None:
        """Its credit has grown: give it what there is, now. Afterwards a link that drains has got all that it can."""
        if self.definition.get_enabled and not self.deleted:
            if self.load():
                self.consumers.serve(consumer)
            elif self.is_loading:
                self.consumers.put_off(consumer)

    def hand_out(self) -> None:
        """Give what there is to those who want it."""
        may_get = self.consumers and self.definition.get_enabled and not self.deleted
        if may_get and (self.shelf is None or self.shelf.loaded or self.load()):
            self.consumers.share_out()

    def is_behind(self, consumer: Consumer) -> bool:
        """Whether there may be more for a consumer, at which there was no time to look."""
        return self.consumers.is_behind(consumer)

    def may_look(self) -> bool:
        """Whether there is time to look at messages for those who choose."""
        return self._queues.may_look()

    def look_later(self, action: Callable[[], None]) -> None:
        """Do this in another turn."""
        self._queues.do_later(self.consumers, action)

    def take(self, most: int) -> list[Entry]:
        """Take messages from the front, at most so many, for `deliverable`."""
        for lane in self.lanes:
            if lane.count:
                taken = lane.take(most)
                if len(taken) < most and lane is not self.lanes[-1]:
                    taken += self.take(most - len(taken)) if self.waiting else []
                return taken
        return []

    def deliverable(self, taken: list[Entry]) -> list[Entry] | None:
        """Lock messages that have been taken, with their payloads in memory, less those that have expired.

        None if they cannot be read; then they are back in their places.
        """
        if self._timetable is not None:
            taken = self._less_expired(taken)
        if self.shelf is not None and self.fetch(taken) is None:
            self._give_back(taken)  # and nobody is woken: they would ask for the same again
            return None
        for entry in taken:
            entry.state = TAKEN
        self.in_flight += len(taken)
        return taken

    def _less_expired(self, entries: list[Entry]) -> list[Entry]:
        now = self._queues.now()
        expired = [entry for entry in entries if 0 < entry.expires <= now]
        if expired:
            self._expire(expired)
            entries = [entry for entry in entries if entry.state != GONE]
        return entries

    def without_expired(self, entries: list[Entry]) -> list[Entry]:
        """Those of some entries that are still worth looking at."""
        now = self._queues.now()
        return [entry for entry in entries if not 0 < entry.expires <= now]

    def fetch(self, entries: Sequence[Entry]) -> list[Entry] | None:
        """Read payloads that are not in memory from the log; those that were read, or None if it is not possible."""
        if self.shelf is None:
            return []
        missing = [entry for entry in entries if entry.payload is None]
        if not missing:
            return missing
        try:
            self.shelf.fetch(missing)
        except Problem as problem:
            # Nobody gets past it silently: what is behind waits until somebody has seen to the log.
            self._queues.unreadable(self, str(problem))
            return None
        return missing

    def let_go(self, entries: Iterable[Entry]) -> None:
        """These were read for a look only: their payloads need not stay in memory."""
        if self.shelf is not None:
            self.shelf.let_go(entries)

    def could_not_deliver(self, consumer: Consumer, entries: list[Entry]) -> None:
        """A consumer was to have these, and something unexpected was raised: it goes, and they are for others."""
        self.remove_consumer(consumer)
        if not consumer.browse:
            self.settle(entries, FAILED, consumer=consumer)
        consumer.failed()

    # Settling

    def settle(
        self, entries: Sequence[Entry], outcome: Outcome, *, work: Work | None = None, consumer: Consumer | None = None
    ) -> None:
        """What a consumer says of messages of this queue that it was given; those settled already are left alone.

        In a unit of work it counts from the commit on.
        """
        entries = [entry for entry in entries if entry.state == TAKEN]
        if work is not None:
            work.add_settled(self, entries, outcome, consumer)
        elif outcome.accepted:
            self.gone(entries)
        else:
            self.back(entries, outcome, consumer)

    def gone(self, entries: list[Entry], *, logged: bool = False, got: bool = True) -> None:
        """Messages that somebody had are not needed any more. `logged`: the log has been told."""
        if self.shelf is not None:
            self.shelf.done(entries, logged=logged)
        for entry in entries:
            entry.state = GONE
        number = len(entries)
        if not self.deleted:  # or all has been refunded
            self.account.add(-cost_of(entries))
        self.depth -= number
        self.in_flight -= number
        if got:
            self.counters.got += number
        if self.index is not None:
            self.index.forget(entries)

    def back(self, entries: list[Entry], outcome: Outcome, consumer: Consumer | None = None) -> None:
        """Messages that somebody had have not been accepted: they go back to their places, or become dead letters."""
        if self.deleted or not entries:
            return
        if outcome.failed or outcome.rejected:
            for entry in entries:
                entry.deliveries += 1
            if self.shelf is not None:
                self.shelf.note_failed(entries)
        if outcome.undeliverable_here and consumer is not None:
            for entry in entries:
                self.consumers.bar(consumer, entry)
        threshold = self.definition.backout_threshold
        if outcome.rejected:
            dead, reason = entries, outcome.reason or "rejected"
        elif threshold and outcome.failed:
            # Whoever died had one message in hand that killed him, perhaps, and others that did nothing to him.
            most = threshold + outcome.lost
            dead, reason = [entry for entry in entries if entry.deliveries >= most], "backout threshold reached"
        else:
            dead, reason = [], ""
        if dead and dead_letters.bury(self._queues, self, dead, reason, backed_out=not outcome.rejected):
            entries = [entry for entry in entries if entry.state not in {IN_WORK, GONE}]
        elif dead and consumer is not None:  # no place for them: at least it does not go round for ever
            for entry in dead:
                self.consumers.bar(consumer, entry)
        self.unlock(entries)

    def unlock(self, entries: list[Entry]) -> None:
        """Put messages that somebody had back into their places."""
        self.in_flight -= len(entries)
        if entries:
            self._give_back(entries)
            self._queues.wake(self)
            if self._timetable is not None:
                now = self._queues.now()
                expired = [entry for entry in entries if 0 < entry.expires <= now]
                self._take_out(expired)
                self._expire(expired)

    def _give_back(self, entries: list[Entry]) -> None:
        for priority, same in _by_priority(entries).items() if not self._fifo else [(0, entries)]:
            lane = self._lane(priority)
            if same:
                lane.give_back(same)
                self.consumers.note_returned(lane, same)
        if self.index is not None:
            self.consumers.note_ids(entries)
        self.let_go(entries)

    def _take_out(self, entries: list[Entry]) -> None:
        """Take messages that wait out of their places."""
        for priority, same in _by_priority(entries).items() if not self._fifo else [(0, entries)]:
            if same:
                self._lane(priority).remove(same)

    def _expire(self, entries: list[Entry]) -> None:
        self._forget(entries)
        self.counters.expired += len(entries)

    def _forget(self, entries: list[Entry]) -> None:
        """Messages that are in no place any more, and that nobody has, are gone."""
        self.in_flight += len(entries)
        self.gone(entries, got=False)

    def forget_puts(self, entries: list[Entry]) -> None:
        """The unit of work that was to put these is rolled back."""
        if not self.deleted:
            self.account.refund(cost_of(entries))
        self.depth -= len(entries)
        self.counters.put -= len(entries)

    def lock(self, entries: list[Entry]) -> None:
        """Take these messages, which wait, as if they had been delivered."""
        self._take_out(entries)
        for entry in entries:
            entry.state = TAKEN
        self.in_flight += len(entries)

    # Looking and tidying

    def take_by_correlation(self, correlation_id: Any, most: int, consumer: Consumer | None = None) -> list[Entry]:
        """Take and lock messages with this correlation id, at most so many."""
        assert self.index is not None
        found = self.index.waiting(correlation_id)
        if consumer is not None:
            found = [entry for entry in found if entry.barred is None or consumer not in entry.barred]
        if not found:
            return []
        found.sort(key=lambda entry: (0 if self._fifo else -entry.priority, entry.place))
        taken = found[:most]
        self._take_out(taken)
        return self.deliverable(taken) or []

    def _build_index(self) -> None:
        if self.index is None:
            self.load()  # what comes later is added when it comes
            self.index = CorrelationIndex(self.account)
            for lane in self.lanes:
                entries = list(lane)
                if (fetched := self.fetch(entries)) is not None:
                    self.index.add(entries)
                    self.let_go(fetched)

    def browse(self, selector: Selector | None = None) -> Iterator[Entry]:
        """All messages that a consumer could get now, in order; they stay.

        A payload is in memory until the next entry is asked for.
        """
        return browse(self, selector)

    def peek(self) -> Entry | None:
        """The message that a consumer would get next; it stays."""
        return next(self.browse(), None)

    def purge(self, most: int = 1 << 64) -> int:
        """Forget messages that nobody has, at most so many; how many that were."""
        if not self.load():
            return 0
        entries: list[Entry] = []
        for lane in self.lanes:
            entries += lane.take(most - len(entries))
        if self._timetable is not None:
            entries += self._timetable.take_delayed(most - len(entries))
        self._forget(entries)
        return len(entries)

    def redrive(self, most: int = 0, origin: str = "") -> Generator[bool | None, None, dead_letters.Redriven]:
        """Send dead letters back to where they came from: at most so many (0: all), and only those from `origin`.

        In short steps; what others get meanwhile stays theirs.
        """
        return dead_letters.redrive(self._queues, self, most, origin)

    def statistics(self) -> QueueStatistics:
        """Figures of this moment."""
        waiting = [entry.put_at for lane in self.lanes if (entry := lane.first())]
        oldest = self.shelf.oldest if self.shelf is not None and not self.shelf.loaded else min(waiting, default=0)
        return QueueStatistics(
            depth=self.depth,
            in_flight=self.in_flight,
            delayed=self._timetable.delayed if self._timetable is not None else 0,
            consumers=len(self.consumers),
            oldest_age=max(0, self._queues.now() - oldest) / 1000 if oldest else 0.0,
            **asdict(self.counters),
        )

    # Changes

    def alter(self, definition: QueueDefinition) -> None:
        """It has other attributes from now on."""
        if definition.order is not self.definition.order:
            self.lanes.clear()
            self._lane_of.clear()
            self._fifo = definition.order is Order.FIFO
        self.definition = definition
        self._queues.wake(self)

    def end(self) -> None:
        """It has been deleted. Messages that somebody has are settled in vain."""
        self.deleted = True
        self.index = None
        if self.shelf is not None:
            self.shelf.late.clear()
        self.account.refund(self.account.used)
        for consumer in self.consumers:
            self.consumers.remove(consumer)
            consumer.ended(Refusal(refusal.DELETED, f"queue {self.name} has been deleted"))
        self._queues.do_in_slices(self, self._let_go_of_all())

    def _let_go_of_all(self) -> Steps:
        """There may be a million messages: to free their memory takes time, too."""
        for lane in self.lanes:
            while some := lane.take(_FORGOTTEN_AT_ONCE):
                if self.shelf is not None:
                    self.shelf.forget(some)
                yield None


def _by_priority(entries: Iterable[Entry]) -> dict[int, list[Entry]]:
    grouped: dict[int, list[Entry]] = {}
    for entry in entries:
        grouped.setdefault(entry.priority, []).append(entry)
    return grouped
