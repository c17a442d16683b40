"""The window of messages on their way to one client, unacknowledged: QoS 1 and 2 as ranges of packet identifiers.

Theory of operation
1. Identifiers are issued in order, 1 to 65535 and round again, in ranges: one `Flight` per delivered piece of a span.
2. `sent` holds flights that wait for PUBACK (QoS 1) or PUBREC (QoS 2), oldest first. Acknowledgements normally come
   in order and shrink the first flight from its front.
3. PUBREC moves identifiers from `sent` to `released`, where they wait for PUBCOMP; the message itself is done with.
4. An acknowledgement out of order splits a flight. From then on the window is `scattered`: the oldest identifier is
   no longer at the front of a queue and has to be looked for before new ones are issued. That ends when it is empty.
5. A client may acknowledge anything, again and again. From the first acknowledgement that is not for the oldest on,
   sets of identifiers tell the unknown ones apart before anybody searches a queue. They too go when it is empty.
   Unknown ones are ignored; the wrong kind of acknowledgement for something that is in flight is a protocol error.
6. Messages from the log carry their cursor and offset. When they are done with (PUBACK, PUBREC), that is noted in
   `settled`, a list that belongs to whoever keeps the cursors. Those of a client that has gone are not kept in memory:
   `span` is None until they are read back.
7. After a reconnect, everything in `sent` is `held` until it is sent again, as far as the client takes that much.
"""

from collections import deque
from collections.abc import Sized
from typing import Generic, Protocol, TypeVar

from heliograph.broker.core.memory import Account
from heliograph.broker.core.mixed_span import MixedSpan
from heliograph.broker.core.span import Span
from heliograph.log import Cursor
from heliograph.mqtt import LAST_ID, ProtocolError, Reason

Settled = list[tuple[Cursor, int, int]]
"""Cursor, offset and number of messages that are done with."""


class Charged(Protocol):
    """Who pays for what is kept in memory: a session."""

    @property
    def account(self) -> Account:
        """Its account."""


class Sharers(Protocol):
    """A group of clients that share a subscription."""

    @property
    def members(self) -> Sized:
        """Those that are left."""


class Recipient(Protocol):
    """What messages were sent for, as far as a window asks: a subscription."""

    @property
    def session(self) -> Charged:
        """The session of its client."""

    @property
    def group(self) -> Sharers | None:
        """The group, if it is a shared subscription."""


R = TypeVar("R", bound=Recipient)

# So many spans on their way, and of so few bytes, are part of what a session takes. The others are charged.
_FEW = 4
_SMALL = 4096


class Flight(Generic[R]):
    """Messages `lo` to `lo + count` of a span, sent with identifiers from `first` on."""

    __slots__ = ("count", "cursor", "first", "held", "lo", "offset", "qos", "span", "subscription")

    def __init__(
        self,
        first: int,
        count: int,
        qos: int,
        subscription: R,
        span: Span | None,
        lo: int,
        cursor: Cursor | None = None,
        offset: int = 0,
    ) -> None:
        self.first = first
        self.count = count
        self.qos = qos
        self.subscription = subscription
        self.span = span
        self.lo = lo
        self.cursor = cursor
        self.offset = offset
        """Of the first message in the cursor."""
        self.held = False
        """Not yet sent again after a reconnect."""

    def split(self, at: int) -> "Flight[R]":
        """Cut everything from message `at` on off; it is a flight of its own."""
        tail = Flight(
            self.first + at,
            self.count - at,
            self.qos,
            self.subscription,
            self.span,
            self.lo + at,
            self.cursor,
            self.offset + at,
        )
        tail.held = self.held
        self.count = at
        return tail

    def drop_front(self, number: int) -> None:
        """The oldest `number` messages are done."""
        self.first += number
        self.lo += number
        self.offset += number
        self.count -= number


class Window(Generic[R]):
    """What is in flight to one client, at most `limit` messages."""

    __slots__ = (
        "_released_ids",
        "_sent_ids",
        "_settled",
        "holds",
        "in_flight",
        "limit",
        "next_id",
        "released",
        "scattered",
        "sent",
    )

    def __init__(self, limit: int, settled: Settled) -> None:
        self.limit = limit
        self._settled = settled
        self.next_id = 1
        self.in_flight = 0
        self.sent: deque[Flight[R]] = deque()
        self.released: deque[list[int]] = deque()
        """[first identifier, count] of QoS 2 messages that the client has, and whose PUBCOMP is awaited."""
        self.scattered = False
        self._sent_ids: set[int] | None = None
        self._released_ids: set[int] | None = None
        self.holds = False
        """Something has not been sent again yet after a reconnect; nothing new is sent before that."""

    def room(self) -> int:
        """How many messages can be sent now with consecutive identifiers."""
        room = self.limit - self.in_flight
        if room <= 0 or self.holds:
            return 0
        if self.in_flight:
            gap = self._gap()
            if not gap:  # the client has left one unacknowledged while identifiers went all the way round
                self._skip_used()
                gap = self._gap()
            room = min(room, gap)
        return min(room, LAST_ID + 1 - self.next_id)

    def _gap(self) -> int:
        """How many identifiers from the next one on are free."""
        if self.scattered:
            firsts = [f.first for f in self.sent] + [first for first, _ in self.released]
        else:
            firsts = [self.sent[0].first] if self.sent else []
            if self.released:
                firsts.append(self.released[0][0])
        return min([(first - self.next_id) % LAST_ID for first in firsts])

    def _skip_used(self) -> None:
        self.scattered = True
        after = {f.first: f.count for f in self.sent}
        after.update((first, count) for first, count in self.released)
        while count := after.get(self.next_id):
            self.next_id = self.next_id + count if self.next_id + count <= LAST_ID else 1

    @property
    def is_roomy(self) -> bool:
        """Whether less than half of it is in use, so that no message waits for another to be acknowledged."""
        return 2 * self.in_flight < self.limit

    def issue(
        self,
        subscription: R,
        span: Span,
        lo: int,
        count: int,
        qos: int,
        cursor: Cursor | None = None,
        offset: int = 0,
    ) -> int:
        """Take `count` messages (no more than `room()`) into the window; the first of their identifiers."""
        first = self.next_id
        self.next_id = first + count if first + count <= LAST_ID else 1
        self.in_flight += count
        self.sent.append(Flight(first, count, qos, subscription, span, lo, cursor, offset))
        if span.hold is None and (len(self.sent) > _FEW or len(span.data) > _SMALL):
            span.charge(subscription.session.account)
        if self._sent_ids is not None:
            self._sent_ids.update(range(first, first + count))
        return first

    def acknowledge(self, first: int, count: int) -> None:
        """PUBACK for these identifiers; those that are not in flight are ignored, those of QoS 2 a ProtocolError."""
        while count:
            taken = self._take(first, count, qos=1)
            if not taken and (self.awaits_receipt(first) or self.awaits_completion(first)):
                raise ProtocolError(Reason.PROTOCOL_ERROR, f"PUBACK for packet identifier {first}, which has QoS 2")
            self.in_flight -= taken
            first, count = first + (taken or 1), count - (taken or 1)
        self._tidy()

    def receive(self, first: int, count: int) -> list[int]:
        """PUBREC for these identifiers: they now wait for PUBCOMP. Those that did not wait for PUBREC are returned."""
        unknown: list[int] = []
        while count:
            taken = self._take(first, count, qos=2)
            if taken:
                self._release(first, taken)
            else:
                unknown.append(first)
            first, count = first + (taken or 1), count - (taken or 1)
        return unknown

    def refuse(self, packet_id: int) -> None:
        """PUBREC with an error: the message is done with, no PUBREL follows."""
        taken = self._take(packet_id, 1, qos=2)
        if not taken:
            self.check_not_qos1(packet_id)
        self.in_flight -= taken
        self._tidy()

    def check_not_qos1(self, packet_id: int) -> None:
        """PUBREC for an identifier that did not wait for it: a ProtocolError if it waits for PUBACK."""
        if self.awaits_receipt(packet_id):
            raise ProtocolError(Reason.PROTOCOL_ERROR, f"PUBREC for packet identifier {packet_id}, which has QoS 1")

    def complete(self, first: int, count: int) -> None:
        """PUBCOMP for these identifiers; those not in flight are ignored, those without PUBREC a ProtocolError."""
        while count:
            front = self.released[0] if self.released else None
            if front is not None and front[0] == first:
                number = min(count, front[1])
                front[0] += number
                front[1] -= number
                if not front[1]:
                    self.released.popleft()
                if self._released_ids is not None:
                    self._released_ids.difference_update(range(first, first + number))
                self.in_flight -= number
            else:
                number = 1
                completed = self._complete_one(first)
                if not completed and self.awaits_receipt(first):
                    text = f"PUBCOMP for packet identifier {first}, for which there was no PUBREL"
                    raise ProtocolError(Reason.PROTOCOL_ERROR, text)
                self.in_flight -= completed
            first, count = first + number, count - number
        self._tidy()

    def awaits_receipt(self, packet_id: int) -> bool:
        """True if this identifier is on its way, and neither PUBACK nor PUBREC has come for it."""
        if self._sent_ids is None:
            self._sent_ids = {i for f in self.sent for i in range(f.first, f.first + f.count)}
        return packet_id in self._sent_ids

    def awaits_completion(self, packet_id: int) -> bool:
        """True if this identifier has been received and released, but not completed."""
        if self._released_ids is None:
            self._released_ids = {i for first, count in self.released for i in range(first, first + count)}
        return packet_id in self._released_ids

    def take_back(self) -> list[Flight[R]]:
        """Remove and return the QoS 1 flights of shared subscriptions, so that other sharers can get them."""
        back = [f for f in self.sent if f.qos == 1 and f.subscription.group and f.subscription.group.members]
        if back:
            taken = set(back)
            self.sent = deque(f for f in self.sent if f not in taken)
            self.in_flight -= sum(f.count for f in back)
            self._sent_ids = None
            self._tidy()
        return back

    def restore(self, flights: list[Flight[R]], released: list[tuple[int, int]], next_id: int) -> None:
        """Be as another window was: what had been sent, received, and not yet used."""
        self.sent = deque(flights)
        self.released = deque([first, count] for first, count in released)
        self.next_id = next_id
        self.in_flight = sum(f.count for f in flights) + sum(count for _, count in released)
        self.scattered = self.in_flight > 0

    def forget_spans(self) -> None:
        """The client has gone: what can be read back from the log need not be in memory."""
        for flight in self.sent:
            if flight.cursor is not None:
                flight.span = None

    def hold_all(self) -> None:
        """The client has come back: everything in `sent` is to be sent again."""
        self.holds = bool(self.sent)
        for flight in self.sent:
            flight.held = True

    def let_go(self) -> list[Flight[R]]:
        """Held flights that the client can take now, in their order; they are not held any more."""
        room = self.limit - self.in_flight + sum(f.count for f in self.sent if f.held)
        flights: list[Flight[R]] = []
        for flight in self.sent:
            if not flight.held:
                continue
            if room <= 0:
                break
            flights.append(flight)
            room -= flight.count
        if flights and room < 0:
            last = flights[-1]
            self.sent.insert(self.sent.index(last) + 1, last.split(last.count + room))
        for flight in flights:
            flight.held = False
        self.holds = bool(self.sent) and self.sent[-1].held
        return flights

    def hold_again(self, flights: list[Flight[R]]) -> None:
        """These, the last that `let_go` gave, cannot be sent yet."""
        for flight in flights:
            flight.held = True
        self.holds = True

    def take_apart(self, flight: Flight[R], span: MixedSpan) -> None:
        """From now on, each message of a flight is one of its own."""
        at = self.sent.index(flight)
        rest: Flight[R] | None = flight
        while rest is not None:
            one, rest = rest, rest.split(1) if rest.count > 1 else None
            if one is not flight:
                at += 1
                self.sent.insert(at, one)
            one.span, one.lo = span.single(one.lo), 0

    def drop(self, flight: Flight[R]) -> None:
        """The messages of a flight are done with, whatever the client says."""
        self.sent.remove(flight)
        if flight.cursor is not None:
            self._settled.append((flight.cursor, flight.offset, flight.count))
        self.in_flight -= flight.count
        self._sent_ids = None
        self._tidy()

    def _take(self, first: int, count: int, qos: int) -> int:
        """Take identifiers from `first` on out of `sent`: as many as the oldest flight has, or one out of order."""
        if not self.sent:
            return 0
        flight = self.sent[0]
        if flight.first != first or flight.qos != qos:
            return self._take_one(first, qos)
        number = min(count, flight.count)
        if flight.cursor is not None:
            self._settled.append((flight.cursor, flight.offset, number))
        if number == flight.count:
            self.sent.popleft()
        else:
            flight.drop_front(number)
        if self._sent_ids is not None:
            self._sent_ids.difference_update(range(first, first + number))
        return number

    def _take_one(self, packet_id: int, qos: int) -> int:
        if not self.awaits_receipt(packet_id):
            return 0
        assert self._sent_ids is not None
        for index, flight in enumerate(self.sent):
            at = packet_id - flight.first
            if not 0 <= at < flight.count:
                continue
            if flight.qos != qos:
                return 0
            self.scattered = True
            self._sent_ids.remove(packet_id)
            if flight.cursor is not None:
                self._settled.append((flight.cursor, flight.offset + at, 1))
            del self.sent[index]
            if flight.count > at + 1:
                self.sent.insert(index, flight.split(at + 1))
            if at:
                flight.count = at
                self.sent.insert(index, flight)
            return 1
        return 0

    def _release(self, first: int, count: int) -> None:
        last = self.released[-1] if self.released else None
        if last is not None and last[0] + last[1] == first:
            last[1] += count
        else:
            self.released.append([first, count])
        if self._released_ids is not None:
            self._released_ids.update(range(first, first + count))

    def _complete_one(self, packet_id: int) -> int:
        if not self.awaits_completion(packet_id):
            return 0
        for index, (first, count) in enumerate(self.released):
            at = packet_id - first
            if not 0 <= at < count:
                continue
            self.scattered = True
            if self._released_ids is not None:
                self._released_ids.remove(packet_id)
            del self.released[index]
            if count - at - 1:
                self.released.insert(index, [packet_id + 1, count - at - 1])
            if at:
                self.released.insert(index, [first, at])
            return 1
        return 0

    def _tidy(self) -> None:
        if not self.in_flight:
            self.scattered = False
            self._sent_ids = self._released_ids = None
