"""The one session of an AMQP client: its windows and the numbers of its deliveries."""

from heliograph.amqp import Flow, amqp_frame
from heliograph.lab.load.amqp.handshake import WIDEST, WINDOW
from heliograph.lab.load.amqp.in_flight import AmqpInFlight


class AmqpSession:
    """What the links of a client have in common."""

    __slots__ = ("_limit", "flight", "frames_in", "frames_out")

    def __init__(self, window: int) -> None:
        """`window`: messages under way at most."""
        self.flight = AmqpInFlight(window)
        self.frames_in = 0  # transfer frames that have arrived
        self.frames_out = 0
        self._limit = 0  # transfer frames that the broker takes so far

    @property
    def frames_left(self) -> int:
        """Transfer frames that the broker takes now."""
        return self._limit - self.frames_out

    def opened(self, next_incoming: int, window: int) -> None:
        """The broker takes so many frames from this one on."""
        self._limit = next_incoming + window

    def credit(self, handle: int, delivery_count: int, credit: int) -> bytes:
        """Gives a receiving link this credit from this delivery on, and opens our window again."""
        count, number = delivery_count % 2**32, self.frames_in % 2**32
        flow = Flow(number, WINDOW, self.frames_out % 2**32, WIDEST, handle, count, credit)
        return amqp_frame(0, flow.encoded())
