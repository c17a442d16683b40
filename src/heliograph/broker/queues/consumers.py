"""The consumers of one queue, and how messages are distributed among them.

Theory of operation

1. Round robin: consumers with credit stand in `_row` and take turns. `share_out` gives each an equal share of what
   waits; a consumer without credit leaves the row until `serve` is called for it.
2. Four kinds of consumers. *Plain* ones take messages from the front. *Selective* ones (with a selector, or barred from
   a message) have `marks`. Those *by correlation id* are called when the index gets a message with their id
   (`_called`). *Browsers* have marks too, get copies, and take nothing.
3. A selective consumer looks at each message once: its mark in each lane is the place up to which it has looked.
   Messages that come back to a place before the mark are kept in a heap (`returned`) and looked at again.
4. Looking takes time, and all selective consumers of a broker share one slice per turn. One that runs out of time is
   `behind`, and goes on in another turn (`look_further`).
5. Parsed messages are kept (`_parsed`) while other consumers are going to look at them, up to a limit.
6. `deliver` may do anything: remove the consumer, delete the queue, or raise. So after each call the state is looked at
   again.
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
"""Messages that are read back together for a selective consumer, and about their total size: finding a property takes
time for each byte of a message."""

_PARSED_MOST = 8 << 20
"""About the bytes of memory for messages that stay parsed for consumers that are behind."""
_PARSED_COST = 500
_PARSED_TIMES = 4
"""Memory of a parsed message: a fixed sum, and so many times its size."""


class ConsumedQueue(Protocol):
    """The messages of a queue, as its consumers see them."""

    lanes: list[Lane]
    index: CorrelationIndex | None

    @property
    def waiting(self) -> int:
        """The number of waiting messages."""

    def take(self, most: int) -> list[Entry]:
        """Take at most `most` messages from the front, for `deliverable`."""

    def take_by_correlation(self, correlation_id: Any, most: int, consumer: Consumer | None = None) -> list[Entry]:
        """Take and lock at most `most` messages with this correlation id."""

    def deliverable(self, taken: list[Entry]) -> list[Entry] | None:
        """Lock messages that were taken, without expired ones; None if they cannot be read."""

    def without_expired(self, entries: list[Entry]) -> list[Entry]:
        """The entries that have not expired."""

    def fetch(self, entries: Sequence[Entry]) -> list[Entry] | None:
        """Read payloads that are not in memory. Returns the entries that were read, or None if that fails."""

    def let_go(self, entries: Iterable[Entry]) -> None:
        """Release payloads that were read only to be looked at."""

    def may_look(self) -> bool:
        """Whether this turn has time left for selective consumers."""

    def look_later(self, action: Callable[[], None]) -> None:
        """Do this in another turn."""

    def could_not_deliver(self, consumer: Consumer, entries: list[Entry]) -> None:
        """Delivering these to a consumer has raised an unexpected exception."""


class _State:
    """A consumer on a queue."""

    __slots__ = ("behind", "by_id", "consumer", "marks", "ready", "returned")

    def __init__(self, consumer: Consumer, *, by_id: bool) -> None:
        self.consumer = consumer
        self.by_id = by_id
        """Whether it gets messages by the index of correlation ids."""
        chooses = consumer.browse or (consumer.selector is not None and not by_id)
        self.marks: dict[Lane, int] | None = {} if chooses else None
        """Of selective ones and browsers: the place in each lane up to which it has looked."""
        self.returned: dict[Lane, list[int]] = {}
        """Of selective ones: heaps of places before the marks that must be looked at again."""
        self.behind = False
        """Whether it ran out of time before it had looked at all messages."""
        self.ready = False
        """Whether it is in `_row`."""

    def wants(self, entry: Entry) -> bool:
        """Whether the consumer accepts this message. With a selector, the payload must be in memory."""
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
        """Consumers that may have credit, the next in turn first; without browsers and those by correlation id."""
        self._browsers: dict[_State, None] = {}
        self._by_id: dict[Any, list[_State]] = {}
        self._called: dict[_State, None] = {}
        """Consumers by correlation id for which a message may have come."""
        self._choosy: dict[_State, None] = {}
        self._parsed: list[Entry] = []
        self._parsed_size = 0

    def __len__(self) -> int:
        return len(self._states)

    def __iter__(self) -> Iterator[Consumer]:
        return iter(list(self._states))

    def add(self, consumer: Consumer) -> None:
        """Add a consumer."""
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
        """Remove a consumer."""
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

    # Changes of messages.

    def note_ids(self, entries: Iterable[Entry]) -> None:
        """Messages have come, or come back: note the consumers that wait for their correlation ids."""
        index = self._queue.index
        assert index is not None
        for entry in entries:
            for state in self._by_id.get(index.id_of(entry), ()):
                self._called[state] = None

    def note_returned(self, lane: Lane, entries: Sequence[Entry]) -> None:
        """Messages are back in their places: selective consumers that passed them must look again."""
        for state in self._choosy:
            mark = state.marks.get(lane, 0) if state.marks is not None else 0
            for entry in entries:
                if entry.place < mark:
                    heapq.heappush(state.returned.setdefault(lane, []), entry.place)

    def bar(self, consumer: Consumer, entry: Entry) -> None:
        """Bar a consumer from a message. A plain consumer becomes selective by that."""
        if entry.barred is None:
            entry.barred = set()
        entry.barred.add(consumer)
        state = self._states.get(consumer)
        if state is not None and state.marks is None:
            state.marks = {}
            self._choosy[state] = None

    # Looking takes time, and other work must not wait.

    def is_behind(self, consumer: Consumer) -> bool:
        """Whether a consumer has not looked at all messages because it ran out of time."""
        state = self._states.get(consumer)
        return state is not None and state.behind

    def _has_time(self, state: _State) -> bool:
        """Whether a consumer may look at more messages in this turn. If not, it goes on in another one."""
        state.behind = not self._queue.may_look()
        if state.behind:
            self._queue.look_later(self.look_further)
        return not state.behind

    def put_off(self, consumer: Consumer) -> None:
        """The messages are still being loaded: the consumer goes on afterwards."""
        if state := self._states.get(consumer):
            state.behind = True

    def look_further(self) -> None:
        """Let the consumers that are behind go on."""
        for state in [one for one in self._states.values() if one.behind]:
            state.consumer.look_further()

    # Distribution.

    def serve(self, consumer: Consumer) -> None:
        """Deliver to one consumer what waits for it, as far as it has credit."""
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
        """Deliver what waits to all consumers, in equal parts as far as they take it."""
        if self._called:
            called, self._called = self._called, {}
            for state in called:
                self._answer(state)
        queue, row = self._queue, self._row
        in_vain = 0
        turns = share = 0
        while row and in_vain < len(row) and (there := queue.waiting):
            # A new round: equal shares of what is left.
            if not turns:
                turns, share = len(row), -(-there // len(row))
            turns -= 1
            state = row[0]
            credit = state.consumer.credit
            # It lines up again in `serve`, when its credit grows.
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
        """Deliver at most `most` messages to a consumer. Returns whether there was one for it."""
        if most <= 0:
            return False
        queue = self._queue
        given = False
        while most > 0:  # expired messages are taken but not delivered, so once may not be enough
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
                # `deliver` may have removed the consumer or used up its credit.
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
        """Deliver messages with its correlation id to a consumer."""
        credit = state.consumer.credit
        if credit <= 0 or state.consumer not in self._states:
            return
        entries = self._queue.take_by_correlation(state.consumer.correlation_id, credit, state.consumer)
        if entries:
            self._deliver(state, entries)

    def _choose(self, state: _State, most: int) -> list[Entry]:
        """Take at most `most` messages that a selective consumer accepts, from where it has not looked yet."""
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
        """The entries that a consumer accepts, and the place up to which it has looked; None if they cannot be read."""
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
        """Look at messages that came back to places before the mark."""
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
        """Deliver copies of messages to a browser that it has not seen."""
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
        """Release parsed messages when all consumers have looked, or when they take too much memory.

        Consumers that are behind are going to look at some of them soon.
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
    """As many of these entries as can be looked at in a short time, at least one, and the place behind them."""
    size = 0
    for at, entry in enumerate(some):
        size += entry.size
        if size > _BYTES_AT_ONCE and at:
            return some[:at], entry.place
    return some, end
