"""A link on which we are the receiver.

A delivery is one transfer or several; the session takes none that begins before the one before it on the same link has
ended. Its first transfer uses one credit and fixes its number. What has come of it is `unfinished` until the last
transfer, and is charged to the connection's `unfinished` meanwhile, so that a peer cannot pile up parts of messages on
many links. The plain transfers, a message in each, come in runs and do not pass here: `incoming_runs` hands them
to `take`.
"""

from typing import Final, NamedTuple, Protocol

from heliograph.amqp import conditions
from heliograph.amqp.codec.performatives import (
    MAX_UINT,
    RECEIVER,
    Attach,
    DeliveryState,
    Flow,
    Received,
    ReceiverSettleMode,
    Transfer,
)
from heliograph.amqp.engine.link import DEFAULT_MAX_MESSAGE_SIZE, Flowed, Link, LinkEvent, LinkSession
from heliograph.amqp.engine.output import EventSink
from heliograph.amqp.engine.settlement import Unsettled
from heliograph.amqp.errors import InvalidField, ProtocolError
from heliograph.common.pieces import Piece, Pieces

LONGEST_TAG: Final = 32
_BEGUN: Final = Received(section_number=0, section_offset=0)
MOST_UNFINISHED: Final = 64 << 20  # bytes in messages of which more is to come, on one connection
_MOST_DISCARDED: Final = 65536  # frames for a link that we have detached; more cannot have been on the way


class Delivery(NamedTuple):
    """A received message. `number` is what `settle` is called with; it grows by one and never wraps."""

    number: int
    tag: bytes
    payload: bytes
    settled: bool
    state: DeliveryState | None
    message_format: int


class Transfers(NamedTuple):
    """A run of messages on one link."""

    link: "Receiver"
    deliveries: list[Delivery]


ReceiverEvent = LinkEvent | Transfers
"""What a transfer may lead to."""


class ReceiverSession(LinkSession, Protocol):
    """What receivers, and the runs of transfers for them, use of their session."""

    incoming: Unsettled["Receiver"]
    incoming_window: int
    next_delivery: int | None

    def next_number(self, delivery_id: int) -> int: ...

    def took(self, frames: int) -> None: ...


class Unfinished:
    """A delivery of which more is to come."""

    __slots__ = ("_payload", "message_format", "number", "settled", "state", "tag")

    def __init__(self, number: int, tag: bytes, message_format: int) -> None:
        self.number = number
        self.tag = tag
        self.message_format = message_format
        self.settled = False
        self.state: DeliveryState | None = None
        self._payload = Pieces()

    @property
    def size(self) -> int:
        """Bytes that have come."""
        return self._payload.size

    def add(self, payload: Piece) -> None:
        """Take a piece."""
        if payload:
            self._payload.add(payload)

    def delivery(self) -> Delivery:
        """It is whole now."""
        return Delivery(self.number, self.tag, self._payload.join(), self.settled, self.state, self.message_format)


class Receiver(Link):
    """Takes messages as far as it has given credit."""

    role = RECEIVER
    session: ReceiverSession
    __slots__ = ("_discarded", "max_message_size", "unfinished")

    def __init__(self, session: ReceiverSession, name: str, handle: int) -> None:
        super().__init__(session, name, handle)
        self.max_message_size = DEFAULT_MAX_MESSAGE_SIZE  # a larger message detaches the link
        self.unfinished: Unfinished | None = None
        self._discarded = 0

    def flow(self, credit: int, *, drain: bool = False, echo: bool = False) -> None:
        """Set the credit to `credit` messages (it is not added); with `drain` the peer uses it up or gives it back.

        When `credit` is 0 after a drain (see `Flowed`), the peer had nothing more.
        """
        if self.gone:
            return
        if not self.accepted:
            raise ValueError(f"credit for the link {self.name!r}, which is not accepted yet")
        self.credit = credit
        self.drain = drain
        self.session.write_flow(self, echo=echo)

    def settle(self, first: int, last: int, state: DeliveryState | None = None) -> None:
        if not self.gone:
            settled = self.rcv_settle_mode == ReceiverSettleMode.FIRST
            self.session.dispositions.gather(RECEIVER, first, last, settled, state)

    def begun(self, first: int, last: int) -> None:
        """Report that the application has received these; there is no outcome yet."""
        if not self.gone:
            self.session.dispositions.gather(RECEIVER, first, last, False, _BEGUN)

    def leave(self) -> None:
        super().leave()
        self.drop_unfinished()

    def _largest(self, max_message_size: int) -> int:
        if max_message_size:
            self.max_message_size = max_message_size
        return self.max_message_size

    def _null_terminus(self) -> None:
        self.target = None

    def on_attach(self, attach: Attach, events: EventSink[LinkEvent]) -> None:
        self.delivery_count = attach.initial_delivery_count or 0
        super().on_attach(attach, events)

    def on_flow(self, flow: Flow, events: EventSink[LinkEvent]) -> None:
        if flow.delivery_count is not None:
            # A draining sender advances its delivery-count without transfers (section 2.6.7). A count beyond its credit
            # is
            # ignored.
            used = (flow.delivery_count - self.delivery_count) & MAX_UINT
            if used <= self.credit:
                self.delivery_count = flow.delivery_count
                self.credit -= used
        if self.credit == 0:
            self.drain = False
        self.available = flow.available or 0
        events.append(Flowed(self))
        if flow.echo and self.accepted:
            self.session.write_flow(self)

    def on_transfer(self, transfer: Transfer, payload: Piece, events: EventSink[ReceiverEvent]) -> None:
        """A transfer of any shape; the plain ones are taken by `incoming_runs`."""
        if self.gone:
            self._discard()
            return
        delivery = self.unfinished or self._begin(transfer, events)
        if delivery is None:
            return
        self.unfinished = delivery
        if transfer.delivery_id not in {None, delivery.number & MAX_UINT}:
            raise InvalidField(f"delivery {transfer.delivery_id} begins before {delivery.number & MAX_UINT} has ended")
        # Section 2.7.5: a delivery is settled if any of its transfers says so; the state of the last transfer counts.
        delivery.settled = delivery.settled or bool(transfer.settled)
        delivery.state = transfer.state if transfer.state is not None else delivery.state
        delivery.add(payload)
        connection = self.session.connection
        connection.unfinished += len(payload)
        if delivery.size > self.max_message_size:
            text = f"a message on this link has at most {self.max_message_size} bytes"
            self.fail(conditions.LINK_MESSAGE_SIZE_EXCEEDED, text, events)
        elif transfer.aborted:
            self.drop_unfinished()
        elif not transfer.more:
            self.drop_unfinished()
            if not transfer.resume:  # section 2.7.5: a resumed delivery that is unknown here is ignored
                self.take([delivery.delivery()], events)
        elif connection.unfinished > max(MOST_UNFINISHED, self.max_message_size):
            text = f"{connection.unfinished} bytes of this connection are parts of messages that have not ended"
            self.fail(conditions.RESOURCE_LIMIT_EXCEEDED, text, events)

    def drop_unfinished(self) -> None:
        """Forget the unfinished delivery, if there is one."""
        if self.unfinished is not None:
            self.session.connection.unfinished -= self.unfinished.size
            self.unfinished = None

    def take(self, deliveries: list[Delivery], events: EventSink[Transfers]) -> None:
        """Hand over deliveries with consecutive numbers, all settled or all not."""
        first = deliveries[0]
        # A delivery that the sender has settled gets no disposition.
        if not first.settled:
            self.session.incoming.add(first.number, deliveries[-1].number, self, 0)
        if events:
            before = events[-1]
            if type(before) is Transfers and before.link is self:
                before.deliveries.extend(deliveries)
                return
        events.append(Transfers(self, deliveries))

    def _begin(self, transfer: Transfer, events: EventSink[LinkEvent]) -> Unfinished | None:
        if transfer.delivery_id is None or transfer.delivery_tag is None:
            raise InvalidField("the first transfer of a delivery must have a delivery-id and a delivery-tag")
        if len(transfer.delivery_tag) > LONGEST_TAG:
            raise InvalidField(f"a delivery-tag has at most {LONGEST_TAG} bytes, not {len(transfer.delivery_tag)}")
        number = self.session.next_number(transfer.delivery_id)
        if self.credit <= 0:
            self.fail(conditions.LINK_TRANSFER_LIMIT_EXCEEDED, "there was no credit for this transfer", events)
            return None
        self.on_deliveries(1)
        return Unfinished(number, transfer.delivery_tag, transfer.message_format or 0)

    def on_deliveries(self, count: int) -> None:
        """Deliveries have begun."""
        self.credit -= count
        self.delivery_count = (self.delivery_count + count) & MAX_UINT
        if self.credit == 0:
            self.drain = False

    def _discard(self) -> None:
        # The peer may have sent transfers before it received our detach. They use up no credit here, so their number is
        # limited.
        self._discarded += 1
        if self._discarded > _MOST_DISCARDED:
            raise ProtocolError(conditions.SESSION_ERRANT_LINK, f"the link {self.name!r:.80} is detached")
