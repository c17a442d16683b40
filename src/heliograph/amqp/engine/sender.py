"""A link on which we are the sender."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.amqp.codec.performatives import MAX_UINT, SENDER, DeliveryState, Flow
from heliograph.amqp.engine.link import Flowed, Link, LinkEvent, LinkSession, serial_rest
from heliograph.amqp.engine.outgoing import OutgoingTransfers
from heliograph.amqp.engine.output import EventSink
from heliograph.amqp.engine.settlement import Unsettled


class SenderSession(LinkSession, Protocol):
    """What senders use of their session."""

    outgoing: OutgoingTransfers["Sender"]
    outgoing_unsettled: Unsettled["Sender"]


class Sender(Link):
    """Sends messages as far as the peer has given credit."""

    role = SENDER
    session: SenderSession
    __slots__ = ("_drain_when_sent", "pending")

    def __init__(self, session: SenderSession, name: str, handle: int) -> None:
        super().__init__(session, name, handle)
        self.pending = 0  # deliveries that wait for the session's window to open
        self._drain_when_sent = False

    def send(
        self,
        payloads: Sequence[bytes],
        *,
        settled: bool = False,
        state: DeliveryState | None = None,
        message_format: int = 0,
    ) -> range:
        """Send a run of messages, not more than `credit`; their numbers come back, as `Settled` will name them.

        Large ones are split by the peer's frame size. What the session's window does not let through waits (`pending`),
        and so does the sequence that was given: it must not be changed.
        """
        if self.gone:
            return range(0)
        count = len(payloads)
        if count > self.credit:
            raise ValueError(f"{count} messages for a link with credit for {self.credit}")
        # The peer counts a message when it arrives. We count it when it is handed over, so that a message that waits
        # for
        # the session window has taken its credit already.
        self.credit -= count
        self.delivery_count = (self.delivery_count + count) & MAX_UINT
        connection = self.session.connection
        if connection.gathering:
            connection.flush()  # an acknowledgement must not be written behind the message that commits it
        return self.session.outgoing.send(self, payloads, settled, state, message_format)

    def offer(self, available: int) -> None:
        """Report how many messages wait for credit."""
        if not self.gone:
            self.available = available
            self.session.write_flow(self)

    def drained(self) -> None:
        """Answer a drain: use up the remaining credit, and report that with a flow."""
        if self.gone:
            return
        if self.pending:
            # The flow that ends the drain counts waiting messages as sent, so it must not overtake them.
            self._drain_when_sent = True
            return
        self._drain_when_sent = False
        self.delivery_count = (self.delivery_count + self.credit) & MAX_UINT
        self.credit = 0
        self.session.write_flow(self)
        self.drain = False

    def settle(self, first: int, last: int, state: DeliveryState | None = None) -> None:
        if self.gone:
            return
        session = self.session
        for run in session.outgoing_unsettled.take_numbers(first, last):
            session.dispositions.gather(SENDER, run.first, run.last, True, state)

    def on_sent(self, count: int) -> None:
        """`count` deliveries have been written completely."""
        self.pending -= count
        if self._drain_when_sent and not self.pending:
            self.drained()

    def on_flow(self, flow: Flow, events: EventSink[LinkEvent]) -> None:
        if flow.link_credit is not None:
            # Null: the peer had not received our attach yet (section 2.7.4)
            seen = 0 if flow.delivery_count is None else flow.delivery_count
            self.credit = serial_rest(seen, flow.link_credit, self.delivery_count)
        self.drain = flow.drain
        events.append(Flowed(self))
        if flow.echo and self.accepted:
            self.session.write_flow(self)

    def _largest(self, max_message_size: int) -> int:
        return 0

    def _null_terminus(self) -> None:
        self.source = None
