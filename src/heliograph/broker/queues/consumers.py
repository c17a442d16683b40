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


class Seat:
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
        self._seats: dict[Consumer, Seat] = {}
        self._row: deque[Seat] = deque()
        """Those who may have credit, the next in turn first. Browsers and those who wait for an id are elsewhere."""
        self._browsers: dict[Seat, None] = {}
        self._by_id: dict[Any, list[Seat]] = {}
        self._called: dict[Seat, None] = {}
        """Those who wait for an id, and for whom something may have come."""
        self._choosy: dict[Seat, None] = {}
        self._parsed: list[Entry] = []
        self._parsed_size = 0

    def __len__(self) -> int:
        return len(self._seats)

    def __iter__(self) -> Iterator[Consumer]:
        return iter(list(self._seats))

    def add(self, consumer: Consumer) -> None:
        """A consumer that gets messages from now on."""
        by_id = consumer.correlation_id is not None and self._queue.index is not None
        seat = self._seats[consumer] = Seat(consumer, by_id=by_id)
        if consumer.browse:
            self._browsers[seat] = None
        elif by_id:
            self._by_id.setdefault(consumer.correlation_id, []).append(seat)
            self._called[seat] = None
        else:
            if seat.marks is not None:
                self._choosy[seat] = None
            self._line_up(seat)

    def remove(self, consumer: Consumer) -> None:
        """A consumer that gets nothing any more."""
        seat = self._seats.pop(consumer, None)
        if seat is None:
            return
        self._browsers.pop(seat, None)
        self._called.pop(seat, None)
        self._choosy.pop(seat, None)
        if seat.ready:
            self._row.remove(seat)
        same = self._by_id.get(consumer.correlation_id) if seat.by_id else None
        if same and seat in same:
            same.remove(seat)
            if not same:
                del self._by_id[consumer.correlation_id]

    def _line_up(self, seat: Seat) -> None:
        if not seat.ready:
            seat.ready = True
            self._row.append(seat)

    # What happens to messages

    def note_ids(self, entries: Iterable[Entry]) -> None:
        """These have come, or come back: call those who wait for their correlation ids."""
        index = self._queue.index
        assert index is not None
        for entry in entries:
            for seat in self._by_id.get(index.id_of(entry), ()):
                self._called[seat] = None

    def note_returned(self, lane: Lane, entries: Sequence[Entry]) -> None:
        """These are back in their places: those who choose have to look again."""
        for seat in self._choosy:
            mark = seat.marks.get(lane, 0) if seat.marks is not None else 0
            for entry in entries:
                if entry.place < mark:
                    heapq.heappush(seat.returned.setdefault(lane, []), entry.place)

    def bar(self, consumer: Consumer, entry: Entry) -> None:
        """A consumer does not get this message again."""
        if entry.barred is None:
            entry.barred = set()
        entry.barred.add(consumer)
        seat = self._seats.get(consumer)
        if seat is not None and seat.marks is None:
            seat.marks = {}
            self._choosy[seat] = None

    # Looking takes time, and others want their turn

    def is_behind(self, consumer: Consumer) -> bool:
        """Whether there are messages that a consumer has not looked at, for want of time."""
        seat = self._seats.get(consumer)
        return seat is not None and seat.behind

    def _has_time(self, seat: Seat) -> bool:
        """Whether a consumer may look at more messages in this turn; otherwise it goes on in another one."""
        seat.behind = not self._queue.may_look()
        if seat.behind:
            self._queue.look_later(self.look_further)
        return not seat.behind

    def put_off(self, consumer: Consumer) -> None:
        """The messages are not known yet: a consumer goes on when they are."""
        if seat := self._seats.get(consumer):
            seat.behind = True

    def look_further(self) -> None:
        """Those who had to wait go on."""
        for seat in [one for one in self._seats.values() if one.behind]:
            seat.consumer.look_further()

    # Sharing out

    def serve(self, consumer: Consumer) -> None:
        """Give one consumer what there is for it."""
        seat = self._seats.get(consumer)
        if seat is None:
            return
        seat.behind = False
        if consumer.browse:
            self._show(seat)
        elif seat.by_id:
            self._answer(seat)
        else:
            self._line_up(seat)
            self._give(seat, consumer.credit)
        if self._parsed:
            self._forget_parsed()

    def share_out(self) -> None:
        """Give everybody what there is, in equal parts as far as they take it."""
        if self._called:
            called, self._called = self._called, {}
            for seat in called:
                self._answer(seat)
        queue, row = self._queue, self._row
        in_vain = 0
        turns = share = 0
        while row and in_vain < len(row) and (there := queue.waiting):
            if not turns:
                turns, share = len(row), -(-there // len(row))
            turns -= 1
            seat = row[0]
            credit = seat.consumer.credit
            if credit <= 0:
                row.popleft()
                seat.ready = False
                continue
            row.rotate(-1)
            if self._give(seat, min(credit, share)):
                in_vain = 0
            else:
                in_vain += 1
        if self._browsers:
            for seat in list(self._browsers):
                self._show(seat)
        if self._parsed:
            self._forget_parsed()

    def _give(self, seat: Seat, most: int) -> bool:
        """Give a consumer at most so many messages; whether there was one for it."""
        if most <= 0:
            return False
        queue = self._queue
        given = False
        while most > 0:  # what has expired is taken and not given, so once may not be enough
            taken = queue.take(most) if seat.marks is None else self._choose(seat, most)
            if not taken:
                break
            entries = queue.deliverable(taken)
            if entries is None:
                return False
            if entries:
                given = True
                most -= len(entries)
                try:
                    seat.consumer.deliver(entries)
                except Exception:
                    queue.could_not_deliver(seat.consumer, entries)
                if most <= 0 or seat.consumer not in self._seats:
                    break
                most = min(most, seat.consumer.credit)
        return given

    def _deliver(self, seat: Seat, entries: list[Entry]) -> None:
        try:
            seat.consumer.deliver(entries)
        except Exception:
            self._queue.could_not_deliver(seat.consumer, entries)

    def _answer(self, seat: Seat) -> None:
        """Give a consumer that waits for a correlation id what there is with that id."""
        credit = seat.consumer.credit
        if credit <= 0 or seat.consumer not in self._seats:
            return
        entries = self._queue.take_by_correlation(seat.consumer.correlation_id, credit, seat.consumer)
        if entries:
            self._deliver(seat, entries)

    def _choose(self, seat: Seat, most: int) -> list[Entry]:
        """Take messages that a consumer wants, at most so many, from where it has not looked yet."""
        chosen: list[Entry] = []
        seat.behind = False
        marks = seat.marks
        assert marks is not None
        for lane in self._queue.lanes:
            if seat.returned.get(lane):
                self._look_again(seat, lane, chosen, most)
                if seat.behind:
                    return chosen
            place = marks.get(lane, 0)
            while place < lane.end and len(chosen) < most:
                if not self._has_time(seat):
                    marks[lane] = place
                    return chosen
                some, end = _few(*lane.look(place, _LOOK_AT_ONCE))
                wanted, place = self._look(seat, some, most - len(chosen), end)
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

    def _look(self, seat: Seat, some: list[Entry], most: int, end: int) -> tuple[list[Entry] | None, int]:
        """Which of some entries a consumer wants, and the place up to which it has looked; None if not readable."""
        fetched: list[Entry] = []
        if seat.consumer.selector is not None:
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
            if seat.wants(entry):
                wanted.append(entry)
        if fetched:
            self._queue.let_go(set(fetched) - set(wanted))
        return wanted, end

    def _look_again(self, seat: Seat, lane: Lane, chosen: list[Entry], most: int) -> None:
        """Take what has come back to places where a consumer has looked before."""
        places = seat.returned[lane]
        while places and len(chosen) < most and self._has_time(seat):
            place = heapq.heappop(places)
            entry = lane.at(place)
            if entry is None:
                continue
            wanted, _ = self._look(seat, [entry], 1, place + 1)
            if wanted is None:
                heapq.heappush(places, place)
                return
            if wanted:
                lane.remove(wanted)
                chosen.append(entry)

    def _show(self, seat: Seat) -> None:
        """Give a browser copies of what it has not seen."""
        seat.behind = False
        marks = seat.marks
        assert marks is not None
        for lane in self._queue.lanes:
            place = marks.get(lane, 0)
            while place < lane.end and (credit := seat.consumer.credit) > 0 and self._has_time(seat):
                some, end = _few(*lane.look(place, _LOOK_AT_ONCE))
                some = self._queue.without_expired(some)
                fetched = self._queue.fetch(some)
                if fetched is None:
                    return
                wanted, place = self._look(seat, some, credit, end)
                marks[lane] = place
                if wanted:
                    self._deliver(seat, wanted)
                self._queue.let_go(fetched)
                if seat.consumer not in self._seats:
                    return

    def _forget_parsed(self) -> None:
        """Parsed messages take more room than they are worth once everybody has looked.

        Whoever had no more time is going to look at some of them soon.
        """
        if self._parsed_size < _PARSED_MOST and any(seat.behind for seat in self._seats.values()):
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
