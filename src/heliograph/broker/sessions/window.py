"""The window of a session: QoS 1 and 2 messages in flight to one client, as ranges of packet identifiers.

Theory of operation
1. Identifiers are issued in order, 1 to 65535 and round again, in ranges: one `Flight` per delivered piece of a span.
   Ranges are what makes this fast: a thousand messages cost one object, and their acknowledgements one subtraction.
2. `sent` holds flights that wait for PUBACK (QoS 1) or PUBREC (QoS 2), oldest first. Acknowledgements normally come
   in order (MQTT-4.6.0) and shrink the first flight from its front.
3. PUBREC moves identifiers from `sent` to `released`, where they wait for PUBCOMP. The message itself is settled then.
4. An acknowledgement out of order splits a flight. From then on the window is `scattered`: the oldest identifier is
   no longer at the front of a queue, and all of them are looked at before new ones are issued. That ends when the
   window is empty.
5. A client may send any acknowledgement, as often as it likes. From the first one that is not for the oldest message
   on, sets of identifiers (`_sent_ids`, `_released_ids`) answer whether an identifier is in flight, so that unknown
   ones do not cost a search of the queues. The sets are dropped when the window is empty. Unknown identifiers are
   ignored; the wrong kind of acknowledgement for a message in flight is a protocol error.
6. Messages from the log carry their cursor and offset. When they are acknowledged (PUBACK, PUBREC), that is appended
   to `settled`, a list that the store empties at the end of the turn. While a client is disconnected, the spans of
   these messages are not kept in memory: `span` is None until they are read back.
7. After a reconnect, everything in `sent` is `held` until it is sent again, as far as the client's limit allows.

Invariants: `in_flight` is the number of identifiers in `sent` and `released` together. No identifier is in both.
Held flights are at the end of `sent`, and `holds` tells whether there are any.
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
"""Cursor, offset and number of messages that were acknowledged."""


class Charged(Protocol):
    """Whoever pays for messages in memory: a session."""

    @property
    def account(self) -> Account:
        """Its memory account."""


class Sharers(Protocol):
    """A group of clients that share a subscription."""

    @property
    def members(self) -> Sized:
        """The members that are still subscribed."""


class Recipient(Protocol):
    """The subscription that messages were sent for, as far as a window needs it."""

    @property
    def session(self) -> Charged:
        """The session that it belongs to."""

    @property
    def group(self) -> Sharers | None:
        """The group, if it is a shared subscription."""


R = TypeVar("R", bound=Recipient)

# Up to so many spans in flight, of at most so many bytes each, are covered by the fixed cost of a session. Charging
# them by themselves would cost time for each message of each client.
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
        """Offset of the first message in the cursor."""
        self.held = False
        """Still to be sent again after a reconnect."""

    def split(self, at: int) -> "Flight[R]":
        """Cut off everything from message `at` on, as a flight of its own."""
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
        """Remove the oldest `number` messages."""
        self.first += number
        self.lo += number
        self.offset += number
        self.count -= number


class Window(Generic[R]):
    """Messages in flight to one client, at most `limit`."""

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
        """[first identifier, count] of QoS 2 messages that were received (PUBREC) and wait for PUBCOMP."""
        self.scattered = False
        self._sent_ids: set[int] | None = None
        self._released_ids: set[int] | None = None
        self.holds = False
        """Flights are still to be sent again after a reconnect; nothing new is sent before that."""

    def room(self) -> int:
        """How many messages can be sent now with consecutive identifiers."""
        room = self.limit - self.in_flight
        if room <= 0 or self.holds:
            return 0
        if self.in_flight:
            gap = self._gap()
            if not gap:  # the next identifier is still in use, as one stayed unacknowledged
                self._skip_used()
                gap = self._gap()
            room = min(room, gap)
        return min(room, LAST_ID + 1 - self.next_id)  # a range does not wrap

    def _gap(self) -> int:
        """How many identifiers from the next one on are free."""
        if self.scattered:
            firsts = [f.first for f in self.sent] + [first for first, _ in self.released]
        else:
            firsts = [self.sent[0].first] if self.sent else []
            if self.released:
                firsts.append(self.released[0][0])
        # Identifiers are a ring of 65535: the distance to the nearest one in use.
        return min([(first - self.next_id) % LAST_ID for first in firsts])

    def _skip_used(self) -> None:
        self.scattered = True
        after = {f.first: f.count for f in self.sent}
        after.update((first, count) for first, count in self.released)
        while count := after.get(self.next_id):
            self.next_id = self.next_id + count if self.next_id + count <= LAST_ID else 1

    @property
    def is_roomy(self) -> bool:
        """Whether less than half of the window is in use, so that no message waits for an acknowledgement."""
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
        """Put `count` messages (no more than `room()`) in flight. Returns the first of their identifiers."""
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
        """Handle PUBACK for these identifiers. Those not in flight are ignored, those of QoS 2 are a ProtocolError."""
        while count:
            taken = self._take(first, count, qos=1)
            if not taken and (self.awaits_receipt(first) or self.awaits_completion(first)):
                raise ProtocolError(Reason.PROTOCOL_ERROR, f"PUBACK for packet identifier {first}, which has QoS 2")
            self.in_flight -= taken
            first, count = first + (taken or 1), count - (taken or 1)
        self._tidy()

    def receive(self, first: int, count: int) -> list[int]:
        """Handle PUBREC for these identifiers: they now wait for PUBCOMP.

        Returns those that did not wait for PUBREC.
        """
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
        """Handle PUBREC with an error: the message is settled, and no PUBREL follows (MQTT 5, 4.3.3)."""
        taken = self._take(packet_id, 1, qos=2)
        if not taken:
            self.check_not_qos1(packet_id)
        self.in_flight -= taken
        self._tidy()

    def check_not_qos1(self, packet_id: int) -> None:
        """Check a PUBREC that was not expected: ProtocolError if the identifier waits for PUBACK."""
        if self.awaits_receipt(packet_id):
            raise ProtocolError(Reason.PROTOCOL_ERROR, f"PUBREC for packet identifier {packet_id}, which has QoS 1")

    def complete(self, first: int, count: int) -> None:
        """Handle PUBCOMP for these identifiers.

        Those not in flight are ignored, those without PUBREC a ProtocolError.
        """
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
        """Whether this identifier is in flight and waits for PUBACK or PUBREC. Builds the set on first use."""
        if self._sent_ids is None:
            self._sent_ids = {i for f in self.sent for i in range(f.first, f.first + f.count)}
        return packet_id in self._sent_ids

    def awaits_completion(self, packet_id: int) -> bool:
        """Whether this identifier waits for PUBCOMP. Builds the set on first use."""
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
        """Take the state of another window: flights, released identifiers, and the next identifier."""
        self.sent = deque(flights)
        self.released = deque([first, count] for first, count in released)
        self.next_id = next_id
        self.in_flight = sum(f.count for f in flights) + sum(count for _, count in released)
        self.scattered = self.in_flight > 0

    def forget_spans(self) -> None:
        """The client has disconnected: release spans that can be read back from the log."""
        for flight in self.sent:
            if flight.cursor is not None:
                flight.span = None

    def hold_all(self) -> None:
        """The client has reconnected: everything in `sent` is to be sent again."""
        self.holds = bool(self.sent)
        for flight in self.sent:
            flight.held = True

    def let_go(self) -> list[Flight[R]]:
        """Held flights that the client can take now, in order. They are not held any more."""
        # The new connection may have a smaller receive maximum than messages are in flight. Held flights do not use it
        # yet.
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
        """Hold these flights again, the last of those that `let_go` returned: they cannot be sent yet."""
        for flight in flights:
            flight.held = True
        self.holds = True

    def take_apart(self, flight: Flight[R], span: MixedSpan) -> None:
        """Split a flight into one flight per message."""
        at = self.sent.index(flight)
        rest: Flight[R] | None = flight
        while rest is not None:
            one, rest = rest, rest.split(1) if rest.count > 1 else None
            if one is not flight:
                at += 1
                self.sent.insert(at, one)
            one.span, one.lo = span.single(one.lo), 0

    def drop(self, flight: Flight[R]) -> None:
        """Settle the messages of a flight without an acknowledgement: they cannot be sent to this client."""
        self.sent.remove(flight)
        if flight.cursor is not None:
            self._settled.append((flight.cursor, flight.offset, flight.count))
        self.in_flight -= flight.count
        self._sent_ids = None
        self._tidy()

    def _take(self, first: int, count: int, qos: int) -> int:
        """Take identifiers from `first` on out of `sent`: as many as the oldest flight has, or one out of order.

        Returns how many. One call per flight is the fast path: clients acknowledge in order.
        """
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
            # Out of order: the flight is split into up to three parts, which keep its place in the queue.
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
            # A list, because PUBCOMP shrinks it in place.
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
        # Empty: the costly state for acknowledgements out of order is not needed any more.
        if not self.in_flight:
            self.scattered = False
            self._sent_ids = self._released_ids = None
