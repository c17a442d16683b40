"""One AMQP 1.0 client of a load: a connection with one session and at most one link in each direction.

The handshake blocks; after it frames are read as runs and handed to the links.
"""

from typing import Any, TypeVar

from heliograph.amqp.composite import Fields, resolve
from heliograph.amqp.decoding import decode
from heliograph.amqp.errors import ProtocolError
from heliograph.amqp.frames import AMQP_HEADER, SASL_HEADER, amqp_frame, sasl_frame
from heliograph.amqp.performatives import (
    RECEIVER,
    SENDER,
    Attach,
    Begin,
    Close,
    Coordinator,
    Detach,
    Disposition,
    End,
    Flow,
    Open,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SenderSettleMode,
    Source,
    Target,
    Transfer,
)
from heliograph.amqp.values import Described, Symbol
from heliograph.lab.bytestream import PATIENCE, BrokerGone, ByteStream
from heliograph.lab.inlet import Inlet
from heliograph.lab.outlet import Outlet
from heliograph.lab.targets.layout import Door
from heliograph.lab.transfers import COORDINATING, FRAME, RECEIVING, SENDING
from heliograph.lab.units_of_work import UnitsOfWork
from heliograph.network_errors import sentence

WINDOW = 65_536  # transfer frames that a session takes ahead
WIDEST = 2**31 - 1  # a window that never closes
SELECTOR = "apache.org:selector-filter:string"

_P = TypeVar("_P", bound=Fields)


class Client(ByteStream):
    """A connected AMQP client."""

    def __init__(self, door: Door, name: str) -> None:
        """Connect and send everything up to `begin`; `finish` waits for the answers."""
        super().__init__(door.address)
        self.outlet = Outlet(self)
        self.inlet = Inlet(self)
        self.units = UnitsOfWork(self)
        self.strange = 0  # frames that have no place in the load
        self._kept = b""
        self._remote: dict[int, int] = {}  # our handles by the broker's
        self._frame_limit = 0  # transfers that the session takes so far
        self._frames_in = self._frames_out = 0
        self._deliveries = 0
        if door.user:
            init = SaslInit("PLAIN", f"\0{door.user}\0{door.password}".encode(), door.hostname or None)
        else:
            init = SaslInit("ANONYMOUS", b"lab", door.hostname or None)
        self._say(
            SASL_HEADER
            + sasl_frame(init.encoded())
            + AMQP_HEADER
            + amqp_frame(0, Open(name, door.hostname or None, FRAME, 0).encoded())
            + amqp_frame(0, Begin(None, 0, WINDOW, WIDEST, COORDINATING).encoded())
        )

    def finish(self) -> None:
        """Wait until the session has begun."""
        self._expect_header(SASL_HEADER)
        self._await(SaslMechanisms)
        outcome = self._await(SaslOutcome)
        if outcome.code:
            raise BrokerGone(f"the broker did not let us in: SASL outcome {outcome.code.name}")
        self._expect_header(AMQP_HEADER)
        self._await(Open)
        self._frame_limit = self._await(Begin).incoming_window

    def send_to(self, address: str) -> None:
        """Open the link that puts, and wait for credit."""
        self._attach(Attach("put", SENDING, SENDER, _UNSETTLED, source=Source("lab"), target=Target(address)))
        while not self.outlet.limit:
            self._flowed(self._await(Flow))

    def coordinate(self) -> None:
        """Open the link that controls units of work, and begin the first."""
        self._attach(Attach("work", COORDINATING, SENDER, _UNSETTLED, source=Source("lab"), target=Coordinator()))
        while not self.units.limit:
            self._flowed(self._await(Flow))
        self._say(self.units.begin())

    def receive_from(self, address: str, credit: int, selector: str = "") -> None:
        """Open the link that gets, and give it credit."""
        wanted = {"jms-selector": Described(Symbol(SELECTOR), selector)} if selector else None
        source = Source(address, filter=wanted)
        self._attach(Attach("get", RECEIVING, RECEIVER, _UNSETTLED, source=source, target=Target("lab")))
        self._say(self.inlet.open(credit))

    def take_numbers(self, count: int, frames: int) -> int:
        """The first of so many delivery numbers, for deliveries of so many frames in all."""
        first = self._deliveries
        self._deliveries += count
        self._frames_out += frames
        return first

    @property
    def frames_left(self) -> int:
        """Transfer frames that the session takes now."""
        return self._frame_limit - self._frames_out

    def took(self, frames: int) -> None:
        """So many transfer frames have arrived."""
        self._frames_in += frames

    def credit_frame(self, count: int, credit: int) -> bytes:
        """Gives the receiving link this credit from its delivery `count` on, and opens the session's window again."""
        flow = Flow(self._frames_in, WINDOW, self._frames_out, WIDEST, RECEIVING, count, credit)
        return amqp_frame(0, flow.encoded())

    def read(self) -> None:
        """Take what has arrived."""
        data = bytes(self.receive(self._kept))
        at, end = 0, len(data)
        while end - at >= 8:
            stop = at + int.from_bytes(data[at : at + 4], "big")
            if stop > end:
                break
            if stop - at == 8:  # a sign of life
                at = stop
            elif data[at + 10] == Transfer.CODE:
                at = self.inlet.take(data, at, stop, end)
            else:
                self._control(decode(data, at + 8)[0])
                at = stop
        self._kept = data[at:]

    def _control(self, performative: Described) -> None:
        code, fields = performative.descriptor, performative.value
        if code == Disposition.CODE and fields[0] == RECEIVER:
            # Some brokers settle one by one, so this is not made into an object.
            self._settled(fields)
        elif code == Flow.CODE:
            self._flowed(resolve(performative))
        elif code in {Detach.CODE, End.CODE, Close.CODE}:
            raise BrokerGone(f"the broker ended it: {resolve(performative)}")
        else:
            self.strange += 1

    def _settled(self, fields: list[Any]) -> None:
        first, state = fields[1], fields[4] if len(fields) > 4 else None
        last = first if len(fields) < 3 or fields[2] is None else fields[2]
        if first <= self.units.asked <= last:
            self.units.answered(state)
            last -= 1
        if last >= first:
            self.outlet.settled(last - first + 1, state)

    def _flowed(self, flow: Flow) -> None:
        self._frame_limit = (flow.next_incoming_id or 0) + flow.incoming_window
        if flow.handle is None:
            return
        limit = (flow.delivery_count or 0) + (flow.link_credit or 0)
        link = self._remote.get(flow.handle)
        if link == SENDING:
            self.outlet.limit = limit
        elif link == COORDINATING:
            self.units.limit = limit

    def _attach(self, attach: Attach) -> None:
        attach.initial_delivery_count = 0 if attach.role == SENDER else None
        self._say(amqp_frame(0, attach.encoded()))
        answer = self._await(Attach)
        if (answer.source if attach.role == RECEIVER else answer.target) is None:
            raise BrokerGone(f"the broker refuses a link: {self._await(Detach).error}")
        self._remote[answer.handle] = attach.handle

    def _say(self, data: bytes) -> None:
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise BrokerGone(f"sending failed: {sentence(error, 'the broker')}") from None

    def _expect_header(self, header: bytes) -> None:
        came = self._patiently(8)
        if came != header:
            raise BrokerGone(f"expected protocol header {header!r}, the broker sent {came!r}")

    def _await(self, kind: type[_P]) -> _P:
        """The next frame, which must be of this kind; flows may come in between."""
        while True:
            size = int.from_bytes(self._patiently(4), "big")
            data = self._patiently(size - 4)
            if size == 8:
                continue
            try:
                performative = resolve(decode(data, 4)[0])
            except ProtocolError as error:
                raise BrokerGone(f"the broker sent what is no AMQP: {error}") from None
            if isinstance(performative, kind):
                return performative
            if not isinstance(performative, Flow):
                raise BrokerGone(f"expected {kind.__name__}, the broker sent {performative}")
            self._flowed(performative)

    def _patiently(self, size: int) -> bytes:
        try:
            return self._exactly(size)
        except OSError as error:
            raise BrokerGone(f"it did not answer within {PATIENCE:.0f} s: {sentence(error, 'the broker')}") from None


_UNSETTLED = SenderSettleMode.UNSETTLED
