"""The session of an AMQP client: its windows, deliveries in flight, sender links, and transactions.

An `AmqpSession` belongs to one connection. Its links share two limits: transfer frames that the broker takes
(`frames_left`), and deliveries that may be in flight (`AmqpInFlight.window`). A `SenderLink` adds the broker's credit
to these. Delivery numbers ascend for all links together and are settled by ranges.
"""

import numpy as np
from numpy.typing import NDArray

from heliograph.amqp import Accepted, Declare, Declared, Described, Discharge, Flow, Transfer, amqp_frame, encode
from heliograph.lab.errors import ClientFailed
from heliograph.lab.load.amqp.handshake import WIDEST, WINDOW
from heliograph.lab.load.meter import GroupMeter

_LEAST = 256
_NUMBERS = 2**32
_NONE: NDArray[np.int64] = np.empty(0, np.int64)

_VALUE = b"\x00\x53\x77"  # descriptor of the section of a message that holds one value


class AmqpInFlight:
    """Unsettled deliveries of one session, with the time each was sent.

    Delivery numbers here do not wrap; modulo 2**32 they are those on the wire. Send times are in a ring indexed by
    delivery number, so a range of deliveries is begun or settled with one array operation.
    """

    __slots__ = ("_mask", "_oldest", "_sent_at", "_size", "count", "next", "window")

    def __init__(self, window: int) -> None:
        self.window = window
        self._size = max(_LEAST, 1 << (2 * window).bit_length())
        self._mask = self._size - 1
        self._sent_at = np.zeros(self._size, np.int64)  # by number modulo size; 0: settled or not ours
        self._oldest = 0  # nothing before this one is in flight
        self.next = 0
        self.count = 0

    def room(self) -> int:
        """How many more may be sent: what the window allows, or fewer if a very old one is still not settled."""
        room = self.window - self.count
        if room > self._oldest + self._size - self.next:
            self._advance()
            room = min(room, self._oldest + self._size - self.next)
        return max(0, room)

    def _advance(self) -> None:
        if not self.count:
            self._oldest = self.next
            return
        places = np.arange(self._oldest, self.next) & self._mask
        self._oldest += int(np.argmax(self._sent_at[places] > 0))

    def skip(self, count: int = 1) -> int:
        """Reserve `count` numbers for deliveries that are not tracked; returns the first."""
        first = self.next
        self.next += count
        return first

    def begin(self, count: int, now: int) -> int:
        """Reserve `count` (at most `room()`) numbers for deliveries sent at `now`; returns the first."""
        first = self.next
        start = first & self._mask
        if count == 1:
            self._sent_at[start] = now
        elif start + count <= self._size:
            self._sent_at[start : start + count] = now
        else:
            self._sent_at[np.arange(first, first + count) & self._mask] = now
        self.next = first + count
        self.count += count
        return first

    def end(self, first: int, last: int, now: int) -> NDArray[np.int64]:
        """Settle a range of wire numbers; returns how long each delivery took, without those not in flight."""
        back = (self.next - first) % _NUMBERS
        start = self.next - back
        behind = min(start + (last - first) % _NUMBERS + 1, self.next)
        if back > self._size or start < 0:
            return _NONE
        place = start & self._mask
        size = behind - start
        if size == 1:
            return self._end_one(place, now)
        if place + size <= self._size:
            sent = self._sent_at[place : place + size]
            if sent.all():
                took: NDArray[np.int64] = now - sent
                sent[:] = 0
                self.count -= size
                return took
        places = np.arange(start, behind) & self._mask
        places = places[self._sent_at[places] > 0]
        took = now - self._sent_at[places]
        self._sent_at[places] = 0
        self.count -= len(places)
        return took

    def _end_one(self, place: int, now: int) -> NDArray[np.int64]:
        sent = int(self._sent_at[place])
        if not sent:
            return _NONE
        self._sent_at[place] = 0
        self.count -= 1
        return np.array([now - sent])


class AmqpSession:
    """The state that the links of a client share: deliveries in flight and the session's frame windows."""

    __slots__ = ("_limit", "flight", "frames_in", "frames_out")

    def __init__(self, window: int) -> None:
        """`window`: messages in flight at most."""
        self.flight = AmqpInFlight(window)
        self.frames_in = 0  # transfer frames that have arrived
        self.frames_out = 0
        self._limit = 0  # transfer frames that the broker takes so far

    @property
    def frames_left(self) -> int:
        """Transfer frames that the broker takes now."""
        return self._limit - self.frames_out

    def opened(self, next_incoming: int, window: int) -> None:
        """Note the session window of the broker: `window` frames from number `next_incoming` on."""
        self._limit = next_incoming + window

    def credit(self, handle: int, delivery_count: int, credit: int) -> bytes:
        """A flow frame that grants this credit to a receiving link and reopens our incoming window."""
        count, number = delivery_count % 2**32, self.frames_in % 2**32
        flow = Flow(number, WINDOW, self.frames_out % 2**32, WIDEST, handle, count, credit)
        return amqp_frame(0, flow.encoded())


class SenderLink:
    """A sending link: the credit granted by the broker, and the deliveries sent."""

    __slots__ = ("_session", "handle", "limit", "sent", "settled")

    def __init__(self, session: AmqpSession, handle: int, *, settled: bool) -> None:
        self.handle = handle
        self.settled = settled
        self.limit = 0  # deliveries that the broker has given credit for so far
        self.sent = 0
        self._session = session

    def room(self, frames: int) -> int:
        """How many messages of `frames` frames each may be sent now."""
        room = min(self.limit - self.sent, self._session.frames_left // frames)
        return room if self.settled else min(room, self._session.flight.room())

    @property
    def next(self) -> int:
        """The number of the next delivery."""
        return self._session.flight.next

    def begin(self, count: int, frames: int, now: int) -> int:
        """Reserve numbers for `count` deliveries in `frames` frames in all, sent at `now`; returns the first."""
        session = self._session
        self.sent += count
        session.frames_out += frames
        return session.flight.skip(count) if self.settled else session.flight.begin(count, now)


class Transactions:
    """Declares and discharges units of work at the coordinator, and keeps the id of the open one."""

    __slots__ = ("_asked_at", "_meter", "_session", "asked", "current", "filled", "handle", "limit", "used")

    def __init__(self, session: AmqpSession, meter: GroupMeter, handle: int) -> None:
        self.handle = handle
        self.limit = 0  # questions that the broker has given credit for so far
        self.used = 0  # questions that were asked
        self.asked: dict[int, Declare | Discharge] = {}  # by delivery number: what waits for its answer
        self.current: bytes | None = None  # the name of the unit that is open
        self.filled = 0  # messages in it
        self._asked_at = 0
        self._session = session
        self._meter = meter

    def begin(self) -> bytes:
        """The frames that declare a unit of work."""
        return self._ask(Declare())

    @property
    def able(self) -> bool:
        """Whether the current unit can be committed now."""
        return self.current is not None and self.limit - self.used >= 2 and self._session.frames_left >= 2

    def commit(self, now: int) -> bytes:
        """The frames that commit the current unit of work and declare the next one."""
        assert self.current is not None
        ended, self.current, self.filled = self.current, None, 0
        self._asked_at = now
        return self._ask(Discharge(ended)) + self._ask(Declare())

    def answered(self, number: int, state: Described | None, now: int) -> None:
        """Note the coordinator's answer to a declare or discharge."""
        question = self.asked.pop(number)
        descriptor = None if state is None else state.descriptor
        if isinstance(question, Declare) and descriptor == Declared.CODE and state is not None:
            self.current = bytes(state.value[0])
        elif isinstance(question, Discharge) and descriptor == Accepted.CODE:
            self._meter.recorder("commit").record(now - self._asked_at)
        else:
            raise ClientFailed(f"the coordinator answered {state} to {type(question).__name__}")

    def _ask(self, question: Declare | Discharge) -> bytes:
        number = self._session.flight.skip()
        self._session.frames_out += 1
        self.used += 1
        self.asked[number % 2**32] = question
        transfer = Transfer(self.handle, number % 2**32, (number % 2**32).to_bytes(4), 0, False)
        return amqp_frame(0, transfer.encoded() + _VALUE + encode(question))
