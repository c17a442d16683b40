"""Who gets what: the consumers of one queue, and how messages are shared out among them.

Consumers with credit take turns. One that wants everything takes from the front. One that chooses (it has a selector,
or has said of a message that it cannot use it) looks at each message once: its *mark* in each lane says how far it has
looked, and what comes back before the mark is remembered apart. One that waits for a correlation id is called when a
message with that id comes. Browsers have marks too, and take nothing.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from heliograph.broker.queues.consumer import Consumer
from heliograph.broker.queues.correlation import CorrelationIndex
from heliograph.broker.queues.entry import Entry
from heliograph.broker.queues.lane import Lane

_LOOK_AT_ONCE = 256
_BYTES_AT_ONCE = 65_536
"""Messages that are read back together when a consumer that chooses has to look at them, and about how long they may
be: to look at a property takes longer than anything else for each byte of a message."""

_PARSED_MOST = 8 << 20
"""Bytes of memory, about, for messages that stay parsed for those who had no more time to look at them."""
_PARSED_COST = 500
_PARSED_TIMES = 4
"""What a parsed message takes: this much, and so many times its size."""


class ConsumedQueue(Protocol):
    """The messages of a queue, as its consumers see them."""

    lanes: list[Lane]
    index: CorrelationIndex | None

    @property
    def waiting(self) -> int:
        """Messages that are there for whoever wants them."""

    def take(self, most: int) -> list[Entry]:
        """Take messages from the front, at most so many, for `deliverable`."""

    def take_by_correlation(self, correlation_id: Any, most: int, consumer: Consumer | None = None) -> list[Entry]:
        """Take and lock messages with this correlation id, at most so many."""

    def deliverable(self, taken: list[Entry]) -> list[Entry] | None:
        """Lock messages that have been taken, less those that have expired; None if they cannot be read."""

    def without_expired(self, entries: list[Entry]) -> list[Entry]:
        """Those of some entries that are still worth looking at."""

    def fetch(self, entries: Sequence[Entry]) -> list[Entry] | None:
        """Read payloads that are not in memory; those that were read, or None if it is not possible."""

    def let_go(self, entries: Iterable[Entry]) -> None:
        """These were read for a look only."""

    def may_look(self) -> bool:
        """Whether there is time to look at messages for those who choose."""

    def look_later(self, action: Callable[[], None]) -> None:
        """Do this in another turn."""

    def could_not_deliver(self, consumer: Consumer, entries: list[Entry]) -> None:
        """A consumer was to have these, and something unexpected was raised."""


class _State:
    """A consumer on a queue."""

    __slots__ = ("behind", "by_id", "consumer", "marks", "ready", "returned")

    def __init__(self, consumer: Consumer, *, by_id: bool) -> None:
        self.consumer = consumer
        self.by_id = by_id
        """Whether it is called when a message with its correlation id comes."""
        chooses = consumer.browse or (consumer.selector is not None and not by_id)
        self.marks: dict[Lane, int] | None = {} if chooses else None
        """Of one that chooses: the place in each lane up to which it has looked."""
        self.returned: dict[Lane, list[int]] = {}
        """Of one that chooses: heaps of places before its marks that have to be looked at again."""
        self.behind = False
        """Whether there was no time to look at all that is there."""
        self.ready = False
        """Whether it stands in the row of those who get something."""

    def wants(self, entry: Entry) -> bool:
        """Whether the consumer may have this message. The payload has to be in memory if it has a selector."""
        if entry.barred is not None and self.consumer in entry.barred:
            return False
        selector = self.consumer.selector
        return selector is None or bool(selector(entry.message))


class Consumers:
    """The consumers of one queue."""

    def __init__(self, queue: ConsumedQueue) -> None:
        self._queue = queue
        self._states: dict[Consumer, _State] = {}
        self._row: deque[_State] = deque()
        """Those who may have credit, the next in turn first. Browsers and those who wait for an id are elsewhere."""
        self._browsers: dict[_State, None] = {}
        self._by_id: dict[Any, list[_State]] = {}
        self._called: dict[_State, None] = {}
        """Those who wait for an id, and for whom something may have come."""
        self._choosy: dict[_State, None] = {}
        self._parsed: list[Entry] = []
        self._parsed_size = 0

    def __len__(self) -> int:
        return len(self._states)

    def __iter__(self) -> Iterator[Consumer]:
        return iter(list(self._states))

    def add(self, consumer: Consumer) -> None:
        """A consumer that gets messages from now on."""
        by_id = consumer.correlation_id is not None and self._queue.index is not None
        state = self._states[consumer] = _State(consumer, by_id=by_id)
        if consumer.browse:
            self._browsers[state] = None
        elif by_id:
            self._by_id.setdefault(consumer.correlation_id, []).append(state)
            self._called[state] = None
        else:
            if state.marks is not None:
                self._choosy[state] = None
            self._line_up(state)

    def remove(self, consumer: Consumer) -> None:
        """A consumer that gets nothing any more."""
        state = self._states.pop(consumer, None)
        if state is None:
            return
        self._browsers.pop(state, None)
        self._called.pop(state, None)
        self._choosy.pop(state, None)
        if state.ready:
            self._row.remove(state)
        same = self._by_id.get(consumer.correlation_id) if state.by_id else None
        if same and state in same:
            same.remove(state)
            if not same:
                del self._by_id[consumer.correlation_id]

    def _line_up(self, state: _State) -> None:
        if not state.ready:
            state.ready = True
            self._row.append(state)

    # What happens to messages

    def note_ids(self, entries: Iterable[Entry]) -> None:
        """These have come, or come back: call those who wait for their correlation ids."""
        index = self._queue.index
        assert index is not None
        for entry in entries:
            for state in self._by_id.get(index.id_of(entry), ()):
                self._called[state] = None

    def note_returned(self, lane: Lane, entries: Sequence[Entry]) -> None:
        """These are back in their places: those who choose have to look again."""
        for state in self._choosy:
            mark = state.marks.get(lane, 0) if state.marks is not None else 0
            for entry in entries:
                if entry.place < mark:
                    heapq.heappush(state.returned.setdefault(lane, []), entry.place)

    def bar(self, consumer: Consumer, entry: Entry) -> None:
        """A consumer does not get this message again."""
        if entry.barred is None:
            entry.barred = set()
        entry.barred.add(consumer)
        state = self._states.get(consumer)
        if state is not None and state.marks is None:
            state.marks = {}
            self._choosy[state] = None

    # Looking takes time, and others want their turn

    def is_behind(self, consumer: Consumer) -> bool:
        """Whether there are messages that a consumer has not looked at, for want of time."""
        state = self._states.get(consumer)
        return state is not None and state.behind

    def _has_time(self, state: _State) -> bool:
        """Whether a consumer may look at more messages in this turn; otherwise it goes on in another one."""
        state.behind = not self._queue.may_look()
        if state.behind:
            self._queue.look_later(self.look_further)
        return not state.behind

    def put_off(self, consumer: Consumer) -> None:
        """The messages are not known yet: a consumer goes on when they are."""
        if state := self._states.get(consumer):
            state.behind = True

    def look_further(self) -> None:
        """Those who had to wait go on."""
        for state in [one for one in self._states.values() if one.behind]:
            state.consumer.look_further()

    # Sharing out

    def serve(self, consumer: Consumer) -> None:
        """Give one consumer what there is for it."""
        state = self._states.get(consumer)
        if state is None:
            return
        state.behind = False
        if consumer.browse:
            self._show(state)
        elif state.by_id:
            self._answer(state)
        else:
            self._line_up(state)
            self._give(state, consumer.credit)
        if self._parsed:
            self._forget_parsed()

    def share_out(self) -> None:
        """Give everybody what there is, in equal parts as far as they take it."""
        if self._called:
            called, self._called = self._called, {}
            for state in called:
                self._answer(state)
        queue, row = self._queue, self._row
        in_vain = 0
        turns = share = 0
        while row and in_vain < len(row) and (there := queue.waiting):
            if not turns:
                turns, share = len(row), -(-there // len(row))
            turns -= 1
            state = row[0]
            credit = state.consumer.credit
            if credit <= 0:
                row.popleft()
                state.ready = False
                continue
            row.rotate(-1)
            if self._give(state, min(credit, share)):
                in_vain = 0
            else:
                in_vain += 1
        if self._browsers:
            for state in list(self._browsers):
                self._show(state)
        if self._parsed:
            self._forget_parsed()

    def _give(self, state: _State, most: int) -> bool:
        """Give a consumer at most so many messages; whether there was one for it."""
        if most <= 0:
            return False
        queue = self._queue
        given = False
        while most > 0:  # what has expired is taken and not given, so once may not be enough
            taken = queue.take(most) if state.marks is None else self._choose(state, most)
            if not taken:
                break
            entries = queue.deliverable(taken)
            if entries is None:
                return False
            if entries:
                given = True
                most -= len(entries)
                try:
                    state.consumer.deliver(entries)
                except Exception:
                    queue.could_not_deliver(state.consumer, entries)
                if most <= 0 or state.consumer not in self._states:
                    break
                most = min(most, state.consumer.credit)
        return given

    def _deliver(self, state: _State, entries: list[Entry]) -> None:
        try:
            state.consumer.deliver(entries)
        except Exception:
            self._queue.could_not_deliver(state.consumer, entries)

    def _answer(self, state: _State) -> None:
        """Give a consumer that waits for a correlation id what there is with that id."""
        credit = state.consumer.credit
        if credit <= 0 or state.consumer not in self._states:
            return
        entries = self._queue.take_by_correlation(state.consumer.correlation_id, credit, state.consumer)
        if entries:
            self._deliver(state, entries)

    def _choose(self, state: _State, most: int) -> list[Entry]:
        """Take messages that a consumer wants, at most so many, from where it has not looked yet."""
        chosen: list[Entry] = []
        state.behind = False
        marks = state.marks
        assert marks is not None
        for lane in self._queue.lanes:
            if state.returned.get(lane):
                self._look_again(state, lane, chosen, most)
                if state.behind:
                    return chosen
            place = marks.get(lane, 0)
            while place < lane.end and len(chosen) < most:
                if not self._has_time(state):
                    marks[lane] = place
                    return chosen
                some, end = _few(*lane.look(place, _LOOK_AT_ONCE))
                wanted, place = self._look(state, some, most - len(chosen), end)
                if wanted is None:
                    marks[lane] = place
                    return chosen
                chosen += wanted
                if wanted:
                    lane.remove(wanted)
            marks[lane] = max(place, marks.get(lane, 0))
            if len(chosen) >= most:
                break
        return chosen

    def _look(self, state: _State, some: list[Entry], most: int, end: int) -> tuple[list[Entry] | None, int]:
        """Which of some entries a consumer wants, and the place up to which it has looked; None if not readable."""
        fetched: list[Entry] = []
        if state.consumer.selector is not None:
            got = self._queue.fetch(some)
            if got is None:
                return None, some[0].place
            fetched = got
            self._will_parse([entry for entry in some if entry.parsed is None])
        wanted: list[Entry] = []
        for entry in some:
            if len(wanted) == most:
                end = entry.place
                break
            if state.wants(entry):
                wanted.append(entry)
        if fetched:
            self._queue.let_go(set(fetched) - set(wanted))
        return wanted, end

    def _look_again(self, state: _State, lane: Lane, chosen: list[Entry], most: int) -> None:
        """Take what has come back to places where a consumer has looked before."""
        places = state.returned[lane]
        while places and len(chosen) < most and self._has_time(state):
            place = heapq.heappop(places)
            entry = lane.at(place)
            if entry is None:
                continue
            wanted, _ = self._look(state, [entry], 1, place + 1)
            if wanted is None:
                heapq.heappush(places, place)
                return
            if wanted:
                lane.remove(wanted)
                chosen.append(entry)

    def _show(self, state: _State) -> None:
        """Give a browser copies of what it has not seen."""
        state.behind = False
        marks = state.marks
        assert marks is not None
        for lane in self._queue.lanes:
            place = marks.get(lane, 0)
            while place < lane.end and (credit := state.consumer.credit) > 0 and self._has_time(state):
                some, end = _few(*lane.look(place, _LOOK_AT_ONCE))
                some = self._queue.without_expired(some)
                fetched = self._queue.fetch(some)
                if fetched is None:
                    return
                wanted, place = self._look(state, some, credit, end)
                marks[lane] = place
                if wanted:
                    self._deliver(state, wanted)
                self._queue.let_go(fetched)
                if state.consumer not in self._states:
                    return

    def _forget_parsed(self) -> None:
        """Parsed messages take more room than they are worth once everybody has looked.

        Whoever had no more time is going to look at some of them soon.
        """
        if self._parsed_size < _PARSED_MOST and any(state.behind for state in self._states.values()):
            return
        for entry in self._parsed:
            entry.parsed = None
        self._parsed.clear()
        self._parsed_size = 0

    def _will_parse(self, entries: list[Entry]) -> None:
        self._parsed += entries
        self._parsed_size += _PARSED_COST * len(entries) + _PARSED_TIMES * sum([entry.size for entry in entries])


def _few(some: list[Entry], end: int) -> tuple[list[Entry], int]:
    """As many of some entries as can be looked at in a short time, one at least, and the place behind them."""
    size = 0
    for at, entry in enumerate(some):
        size += entry.size
        if size > _BYTES_AT_ONCE and at:
            return some[:at], entry.place
    return some, end
