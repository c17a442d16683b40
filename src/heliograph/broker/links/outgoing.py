"""Messages to a client: sent in runs as its credit allows, settled in runs as it says."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from heliograph.amqp.performatives import DeliveryState, SenderSettleMode, TransactionalState
from heliograph.amqp.sender import Sender
from heliograph.broker.links.departure import Departure
from heliograph.broker.links.states import error_of, outcome_of
from heliograph.broker.queues.consumer import Selector
from heliograph.broker.queues.entry import Entry
from heliograph.broker.queues.outcome import ACCEPTED, FAILED, RELEASED, Outcome
from heliograph.broker.queues.queue import Queue
from heliograph.broker.queues.refusal import Refusal

if TYPE_CHECKING:
    from heliograph.broker.links.connection import AmqpConnection

Gone = Callable[[Departure], None]


class Outgoing:
    """A link on which a client receives: a consumer or browser of one queue."""

    __slots__ = (
        "_default",
        "_on_gone",
        "_presettled",
        "_unsettled",
        "browse",
        "connection",
        "correlation_id",
        "link",
        "queue",
        "selector",
    )

    def __init__(
        self,
        connection: "AmqpConnection",
        link: Sender,
        queue: Queue,
        *,
        selector: Selector | None = None,
        correlation_id: Any = None,
        browse: bool = False,
        on_gone: Gone | None = None,
    ) -> None:
        self.connection = connection
        self.link = link
        self.queue = queue
        self.selector = selector
        self.correlation_id = correlation_id
        self.browse = browse
        self._on_gone = on_gone
        self._presettled = link.snd_settle_mode is SenderSettleMode.SETTLED
        self._unsettled: dict[int, Entry] = {}
        default = outcome_of(link.source.default_outcome) if link.source is not None else None
        self._default: Outcome = default or RELEASED

    # For the queue

    @property
    def credit(self) -> int:
        """How many messages can be sent now: none while the network or the session does not take what was sent."""
        link = self.link
        return 0 if link.pending or not self.connection.has_room else link.credit

    def deliver(self, entries: list[Entry]) -> None:
        """Send these."""
        connection = self.connection
        now = connection.host.wall_ms()
        payloads = [entry.outgoing(now) for entry in entries]
        numbers = self.link.send(payloads, settled=self._presettled)
        connection.sent(payloads)
        if self.browse:
            return
        if self._presettled:
            self.queue.settle(entries, ACCEPTED, consumer=self)
        else:
            self._unsettled.update(zip(numbers, entries, strict=True))

    def ended(self, refusal: Refusal) -> None:
        """The queue is gone, and its messages with it."""
        self._unsettled.clear()
        self.link.detach(closed=True, error=error_of(refusal))
        self.connection.forget(self)
        if self._on_gone is not None:
            self._on_gone(Departure.LOST)

    # For the connection

    def flowed(self) -> None:
        """The client gives credit, or wants to see it used up."""
        self.serve()

    def serve(self) -> None:
        """Send what there is, as far as there is room."""
        if self.link.credit and self.connection.has_room:
            self.queue.serve(self)
        if self.link.drain and self.link.credit and self.connection.has_room and not self.link.pending:
            self.link.drained()

    def settled(self, first: int, last: int, state: DeliveryState | None, *, settled: bool) -> None:
        """The client's word on a range of messages."""
        work = None
        answer = state
        if isinstance(state, TransactionalState):
            transaction = self.connection.transactions.find_or_none(state.txn_id)
            if transaction is None:
                # Nobody is waiting for an answer to this; the messages are as if nothing had been said.
                state = None
            else:
                work, state = transaction.work, state.outcome
        outcome = outcome_of(state)
        if outcome is None:
            if not settled:
                return
            outcome = self._default
        entries = self._take(first, last)
        if entries:
            self.queue.settle(entries, outcome, work=work, consumer=self)
        if not settled:
            self.connection.when_safe(self.link, first, last, answer)

    def _take(self, first: int, last: int) -> list[Entry]:
        unsettled = self._unsettled
        if first == last:
            entry = unsettled.pop(first, None)
            return [] if entry is None else [entry]
        found = [unsettled.pop(number, None) for number in range(first, last + 1)]
        return [entry for entry in found if entry is not None]

    def gone(self, how: Departure) -> None:
        """The link is no more: what was not settled goes back."""
        self.queue.remove_consumer(self)
        if self._unsettled:
            entries = list(self._unsettled.values())
            self._unsettled = {}
            self.queue.settle(entries, FAILED if how is Departure.LOST else self._default, consumer=self)
        if self._on_gone is not None:
            self._on_gone(how)
