"""The messages of one queue: their states, lanes, payloads and times.

Theory of operation
1. `Entry.state`: a message is *pending* (not visible yet), *waiting* in its lane, *taken* (delivered to a consumer),
   *in work* (settled in an open unit of work) or *gone*. `depth` counts all but gone ones, `in_flight` taken and in
   work.
2. Messages wait in lanes, one for each priority, or one for all (`Order.FIFO`). A message keeps its place in the lane
   while it is taken, and returns to it (`_give_back`).
3. `take` takes messages from the front; selective consumers take them from anywhere. `deliverable` locks them. From
   there, `gone` and `unlock` are the only ways out.
4. Payloads of persistent messages may be in the log only. Before reading one, call `fetch`; afterwards `let_go`, if the
   message stays. After a restart the messages in the log are not known before they are loaded (`load`).
5. Time (`timetable`): delayed messages are pending until they are due. Expired messages are removed when they are about
   to be delivered, or in a sweep.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from heliograph.broker.core.memory import Account
from heliograph.broker.core.queue_definition import Order, QueueDefinition
from heliograph.broker.core.timers import Timer
from heliograph.broker.queues.consumer import Consumer, Selector
from heliograph.broker.queues.consumers import Consumers
from heliograph.broker.queues.correlation import CorrelationIndex
from heliograph.broker.queues.entry import GONE, PENDING, TAKEN, WAITING, Entry, cost_of
from heliograph.broker.queues.lane import Lane
from heliograph.broker.queues.message_timers import Timetable
from heliograph.broker.queues.queue_storage import QueueStorage
from heliograph.broker.queues.statistics import Counters
from heliograph.errors import Problem

_EXPIRED_AT_ONCE = 1000
_LOOK_AT_ONCE = 256
"""Messages that are read back together when browsing."""


class ContentsHost(Protocol):
    """All queues, as far as the messages of one need them."""

    @property
    def loading(self) -> object:
        """True while queues are being loaded."""

    def account_for(self, name: str) -> Account:
        """The account of a new queue, charged for the queue itself."""

    def now(self) -> int:
        """Milliseconds since 1970."""

    def set_timer(self, when: int, action: Callable[[], None]) -> Timer:
        """Do something at a time in milliseconds since 1970."""

    def do_later(self, owner: object, action: Callable[[], None]) -> None:
        """Do this in another turn."""

    def may_look(self) -> bool:
        """Whether there is time left in this turn for those who choose among messages."""

    def load(self, queue: "QueueContents") -> bool:
        """Load messages from the log. Returns whether that is finished."""

    def wake(self, queue: "QueueContents") -> None:
        """Have messages delivered to consumers at the end of the turn."""

    def unreadable(self, queue: "QueueContents", why: str) -> None:
        """Messages of a queue cannot be read back."""


class QueueContents(ABC):
    """Lanes, payloads and time of one queue."""

    def __init__(self, host: ContentsHost, definition: QueueDefinition, storage: QueueStorage | None) -> None:
        self._contents_host = host
        self.definition = definition
        self.storage: QueueStorage | None = storage
        """Its persistent messages in the log; None until the first one comes."""
        self.depth = storage.pending if storage is not None else 0
        """Messages in the queue in any state, including puts of open units of work."""
        self.account = host.account_for(definition.name)
        """The memory account of the queue."""
        self.in_flight = 0
        self.deleted = False
        self.counters = Counters(high_water=self.depth)
        self.consumers = Consumers(self)
        self.index: CorrelationIndex | None = None
        self.lanes: list[Lane] = []
        """Highest priority first."""
        self._lane_of: dict[int, Lane] = {}
        self._fifo = definition.order is Order.FIFO
        self._timetable: Timetable | None = None

    @property
    def name(self) -> str:
        return self.definition.name

    @abstractmethod
    def hand_out(self) -> None:
        """Give what there is to those who want it."""

    @abstractmethod
    def look_further(self) -> None:
        """Loading has ended: deliver to the consumers that waited."""

    @abstractmethod
    def could_not_deliver(self, consumer: Consumer, entries: list[Entry]) -> None:
        """Delivering to a consumer has failed: remove it, and give the messages to others."""

    @property
    def waiting(self) -> int:
        """Messages that are there for whoever wants them."""
        lanes = self.lanes
        return lanes[0].count if len(lanes) == 1 else sum([lane.count for lane in lanes])

    def take_up(self, entries: list[Entry]) -> None:
        """Add messages behind all earlier ones. They wait in their lanes, unless they are delayed."""
        for entry in entries:
            if entry.expires or entry.deliver_at:
                entries = self._note_times(entries)
                break
        self._line_up(entries)

    def _note_times(self, entries: list[Entry]) -> list[Entry]:
        """Add entries to the timetable. Returns those that are not delayed."""
        if expiring := [entry for entry in entries if entry.expires]:
            self.timetable.add_expiring(expiring, self.depth)
        if delayed := [entry for entry in entries if entry.deliver_at]:
            now = self._contents_host.now()
            delayed = [entry for entry in delayed if entry.deliver_at > now]
            self.timetable.add_delayed(delayed)
            later = set(delayed)
            entries = [entry for entry in entries if entry not in later]
        return entries

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
        self._contents_host.wake(self)

    def _lane(self, priority: int) -> Lane:
        lane = self._lane_of.get(priority)
        if lane is None:
            lane = self._lane_of[priority] = Lane(priority)
            self.lanes.append(lane)
            self.lanes.sort(key=lambda lane: -lane.priority)
        return lane

    @property
    def timetable(self) -> Timetable:
        """Its delayed and expiring messages."""
        if self._timetable is None:
            self._timetable = Timetable(self._contents_host.set_timer, self._time_has_come)
        return self._timetable

    def _time_has_come(self) -> None:
        if self.deleted or self.is_loading:
            return
        timetable, now = self.timetable, self._contents_host.now()
        try:
            self._line_up(timetable.take_due(now, _EXPIRED_AT_ONCE))
            expired = timetable.take_expired(now, _EXPIRED_AT_ONCE)
            self._take_out([entry for entry in expired if entry.state == WAITING])
            self._expire([entry for entry in expired if entry.state in {WAITING, PENDING}])
        finally:
            if timetable.is_due(now):  # many are due at once: the rest in another turn
                self._contents_host.do_later(timetable, self._time_has_come)
            else:
                timetable.looked()  # even after an error, or the timer would never be set again

    def load(self) -> bool:
        """Load the messages in the log, if necessary; False if they are not loaded yet, or cannot be.

        Consumers are called when loading has ended.
        """
        return self.storage is None or self.storage.loaded or self._contents_host.load(self)

    @property
    def is_loading(self) -> bool:
        """Whether the queue is being loaded."""
        return self.storage is not None and not self.storage.loaded and self._contents_host.loading is not None

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
        """Lock messages that were taken, and read their payloads. Expired ones are removed.

        None if they cannot be read; then they are back in their places.
        """
        if self._timetable is not None:
            taken = self._less_expired(taken)
        if self.storage is not None and self.fetch(taken) is None:
            self._give_back(taken)  # without waking the queue, or consumers would ask for the same again
            return None
        for entry in taken:
            entry.state = TAKEN
        self.in_flight += len(taken)
        return taken

    def _less_expired(self, entries: list[Entry]) -> list[Entry]:
        now = self._contents_host.now()
        expired = [entry for entry in entries if 0 < entry.expires <= now]
        if expired:
            self._expire(expired)
            entries = [entry for entry in entries if entry.state != GONE]
        return entries

    def without_expired(self, entries: list[Entry]) -> list[Entry]:
        """Those of some entries that are still worth looking at."""
        now = self._contents_host.now()
        return [entry for entry in entries if not 0 < entry.expires <= now]

    def fetch(self, entries: Sequence[Entry]) -> list[Entry] | None:
        """Read payloads that are not in memory from the log; those that were read, or None if it is not possible."""
        if self.storage is None:
            return []
        missing = [entry for entry in entries if entry.payload is None]
        if not missing:
            return missing
        try:
            self.storage.fetch(missing)
        except Problem as problem:
            # Unreadable messages are not skipped: those behind wait until an operator has repaired the log.
            self._contents_host.unreadable(self, str(problem))
            return None
        return missing

    def let_go(self, entries: Iterable[Entry]) -> None:
        """Release payloads that were read only to be looked at."""
        if self.storage is not None:
            self.storage.let_go(entries)

    def gone(self, entries: list[Entry], *, logged: bool = False, got: bool = True) -> None:
        """Remove locked messages from the queue. `logged`: the log has their acknowledgements already."""
        if self.storage is not None:
            self.storage.done(entries, logged=logged)
        for entry in entries:
            entry.state = GONE
        number = len(entries)
        if not self.deleted:  # deleting the queue has refunded everything
            self.account.add(-cost_of(entries))
        self.depth -= number
        self.in_flight -= number
        if got:
            self.counters.got += number
        if self.index is not None:
            self.index.forget(entries)

    def lock(self, entries: list[Entry]) -> None:
        """Take these messages, which wait, as if they had been delivered."""
        self._take_out(entries)
        for entry in entries:
            entry.state = TAKEN
        self.in_flight += len(entries)

    def unlock(self, entries: list[Entry]) -> None:
        """Put locked messages back into their places."""
        self.in_flight -= len(entries)
        if entries:
            self._give_back(entries)
            self._contents_host.wake(self)
            if self._timetable is not None:
                now = self._contents_host.now()
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
        """Take waiting messages out of their lanes."""
        for priority, same in _by_priority(entries).items() if not self._fifo else [(0, entries)]:
            if same:
                self._lane(priority).remove(same)

    def _expire(self, entries: list[Entry]) -> None:
        self._forget(entries)
        self.counters.expired += len(entries)

    def _forget(self, entries: list[Entry]) -> None:
        """Remove messages that are in no lane and not locked."""
        self.in_flight += len(entries)
        self.gone(entries, got=False)

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
            self.load()  # messages that are loaded later are added then
            self.index = CorrelationIndex(self.account)
            for lane in self.lanes:
                entries = list(lane)
                if (fetched := self.fetch(entries)) is not None:
                    self.index.add(entries)
                    self.let_go(fetched)

    def browse(self, selector: Selector | None = None) -> Iterator[Entry]:
        """All waiting messages, in order; they stay. Messages that come or go meanwhile may be included or not.

        A payload is in memory until the next entry is requested.
        """
        if not self.load():
            return
        for lane in list(self.lanes):
            place = 0
            while place < lane.end:
                some, place = lane.look(place, _LOOK_AT_ONCE)
                some = self.without_expired(some)
                fetched = self.fetch(some)
                if fetched is None:
                    return
                for entry in some:
                    if selector is None or selector(entry.message):
                        yield entry
                    entry.parsed = None
                self.let_go(fetched)

    def peek(self) -> Entry | None:
        """The message that a consumer would get next; it stays."""
        return next(self.browse(), None)

    def may_look(self) -> bool:
        """Whether there is time to look at messages for those who choose."""
        return self._contents_host.may_look()

    def look_later(self, action: Callable[[], None]) -> None:
        """Do this in another turn."""
        self._contents_host.do_later(self.consumers, action)


def _by_priority(entries: Iterable[Entry]) -> dict[int, list[Entry]]:
    grouped: dict[int, list[Entry]] = {}
    for entry in entries:
        grouped.setdefault(entry.priority, []).append(entry)
    return grouped
