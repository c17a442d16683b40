"""Messages to a client: sent as its credit allows, settled as its dispositions say, several at a time."""

from collections.abc import Callable
from functools import partial
from typing import Any

from heliograph.amqp import DeliveryState, Link, Received, Sender, SenderSettleMode, Source, TransactionalState
from heliograph.broker.amqp.peer import AmqpPeer
from heliograph.broker.amqp.states import Departure, error_of, outcome_of
from heliograph.broker.amqp.subscription_names import NamedSubscription
from heliograph.broker.core.slices import Steps
from heliograph.broker.errors import Refusal, Refused
from heliograph.broker.queues.consumer import ACCEPTED, LOST, RELEASED, Outcome, Selector, rejected
from heliograph.broker.queues.entry import Entry
from heliograph.broker.queues.queue import Queue

# What a message is taken to have before any has been sent: with little known, little is taken out of the queue at once.
_GUESS = 512 << 10
_TROUBLE = 1024
"""A message costs as much time as so many bytes more would: small ones by the ten thousand hold others up."""
_AT_ONCE = 1000
_BACK_AT_ONCE = 100
"""Messages that are settled before others have their turn, and those that have not been accepted: these may have to be
written anew, as dead letters."""
_ALL = 1 << 64
_CAPABILITIES = frozenset({"ANONYMOUS-RELAY", "DELAYED_DELIVERY", "SHARED-SUBS"})


class Outgoing:
    """A link on which a client receives: a consumer or browser of one queue."""

    __slots__ = (
        "_begun",
        "_default",
        "_presettled",
        "_size",
        "_spares",
        "_subscription",
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
        connection: AmqpPeer,
        link: Sender,
        queue: Queue,
        *,
        selector: Selector | None = None,
        correlation_id: Any = None,
        browse: bool = False,
        subscription: NamedSubscription | None = None,
    ) -> None:
        self.connection = connection
        self.link = link
        self.queue = queue
        self.selector = selector
        self.correlation_id = correlation_id
        self.browse = browse
        self._subscription = subscription
        self._presettled = link.snd_settle_mode is SenderSettleMode.SETTLED
        self._size = _GUESS
        self._unsettled: dict[int, Entry] = {}
        default = outcome_of(link.source.default_outcome) if link.source is not None else None
        self._default: Outcome = default or RELEASED
        self._spares = default == RELEASED
        """Whether the client wants messages that it has only fetched ahead released, even if it is lost."""
        self._begun = -1
        """The last that its application has, as far as it says so. Messages reach an application in their order."""

    # For the queue

    @property
    def credit(self) -> int:
        """How many messages can be sent now: none while the network or the session does not take what was sent.

        And not more than there is likely to be room for: a client may give credit for more than fits into memory.
        """
        link = self.link
        if link.pending or link.gone or not self.connection.writable_bytes:
            return 0
        return min(link.credit, self.connection.writable_bytes // self._size + 1)

    def deliver(self, entries: list[Entry]) -> None:
        """Send these."""
        connection = self.connection
        now = connection.host.wall_ms()
        try:
            payloads = [entry.outgoing(now) for entry in entries]
        except Exception:
            entries = self._without_odd_ones(entries, now)
            if not entries:
                return
            payloads = [entry.outgoing(now) for entry in entries]
        numbers = self.link.send(payloads, settled=self._presettled)
        size = sum(map(len, payloads)) + _TROUBLE * len(payloads)
        self._size = size // len(payloads) + 1
        connection.sent(len(payloads), size)
        if self.link.pending:
            connection.stall(self)
        if self.browse:
            return
        if self._presettled:
            self.queue.settle(entries, ACCEPTED, consumer=self)
        else:
            self._unsettled.update(zip(numbers, entries, strict=True))

    def _without_odd_ones(self, entries: list[Entry], now: int) -> list[Entry]:
        """Some of these cannot be encoded: they become dead letters, or nobody would get any further."""
        fine, odd = [], []
        for entry in entries:
            try:
                entry.outgoing(now)
                fine.append(entry)
            except Exception:
                self.connection.broker.defects.note(f"a message of queue {self.queue.name} could not be encoded")
                odd.append(entry)
        if not self.browse:
            self.queue.settle(odd, rejected("it could not be encoded"), consumer=self)
        return fine

    def look_further(self) -> None:
        """There was no time to look at all messages of the queue, and now there is: serve the link."""
        self.connection.talk()
        self.serve()

    def failed(self) -> None:
        """Sending messages has raised an unexpected exception."""
        self.connection.broker.defects.note("messages could not be sent", self.connection.outlet)

    def ended(self, refusal: Refusal) -> None:
        """The queue was deleted."""
        self._unsettled.clear()
        self.link.detach(closed=True, error=error_of(refusal))
        self.connection.talk()
        self.connection.forget(self.link)

    # For the connection

    def serve(self) -> None:
        """The client gives credit or wants to see it used up, or there is room: send what there is."""
        link, before = self.link, -1
        while self.credit and link.credit != before:
            before = link.credit
            self.queue.serve(self)
        if (
            link.drain
            and link.credit
            and self.connection.writable_bytes
            and not link.pending
            and not self.queue.is_behind(self)
        ):
            link.drained()

    def settled(self, first: int, last: int, state: DeliveryState | None, *, settled: bool) -> None:
        """Settle a range of messages with the outcome that the client sent."""
        work = None
        answer = state
        if isinstance(state, TransactionalState):
            work = self.connection.transactions.open.get(state.txn_id)
            # Nobody waits for an answer to this: without its transaction it is as if nothing had been said.
            state = None if work is None else state.outcome
        outcome = outcome_of(state)
        if outcome is None:
            if not settled:
                if isinstance(state, Received):
                    self._begun = max(self._begun, last)
                return
            outcome = self._default
        entries = self._take(first, last)
        if work is None and len(entries) > (_AT_ONCE if outcome.accepted else _BACK_AT_ONCE):
            self._settle_bit_by_bit(entries, outcome, partial(self._answer, first, last, answer, settled=settled))
            return
        if entries:
            self.queue.settle(entries, outcome, work=work, consumer=self)
        if not settled:
            self._answer(first, last, answer, settled=settled)

    def _answer(self, first: int, last: int, state: DeliveryState | None, *, settled: bool) -> None:
        if not settled and not self.link.gone:
            self.connection.answer_when_safe(self.link, first, last, state)

    def _settle_bit_by_bit(
        self, entries: list[Entry], outcome: Outcome, done: Callable[[], None] = lambda: None
    ) -> None:
        """Settle as many messages as a client may have had, while others have their turns."""

        most = _AT_ONCE if outcome.accepted else _BACK_AT_ONCE

        def steps() -> Steps:
            for at in range(0, len(entries), most):
                self.queue.settle(entries[at : at + most], outcome, consumer=self)
                yield None

        if self.connection.broker.slices.begin(object(), steps(), done):
            done()

    def _take(self, first: int, last: int) -> list[Entry]:
        unsettled = self._unsettled
        if first == last:
            entry = unsettled.pop(first, None)
            return [] if entry is None else [entry]
        found = [unsettled.pop(number, None) for number in range(first, last + 1)]
        return [entry for entry in found if entry is not None]

    def gone(self, how: Departure) -> bool:
        """The link has ended: unsettled messages go back to the queue."""
        self.queue.remove_consumer(self)
        if self._unsettled:
            unsettled, self._unsettled = self._unsettled, {}
            begun = _ALL if how is Departure.LOST and not self._spares else self._begun
            had = [entry for number, entry in unsettled.items() if number <= begun]
            self._settle_bit_by_bit(had, LOST)
            rest = [entry for number, entry in unsettled.items() if number > begun] if len(had) < len(unsettled) else []
            # Qpid JMS asks for failed deliveries by default, and closes with what it had only fetched ahead.
            outcome = RELEASED if how is Departure.DISCONNECTED else self._default
            self._settle_bit_by_bit(rest, outcome)
        return self._subscription is not None and self._subscription.left(self.queue, how)


def offered(link: Link) -> tuple[str, ...]:
    """Which of the capabilities that a client wants of a link it has."""
    desired = link.remote.desired_capabilities if link.remote is not None else ()
    return tuple(name for name in desired if name in _CAPABILITIES)


def consume(connection: AmqpPeer, link: Sender, outgoing: Outgoing, source: Source) -> None:
    """Let a link receive from its queue; Refused if the queue does not agree."""
    refusal = outgoing.queue.add_consumer(outgoing)
    if refusal is not None:
        raise Refused(*refusal)
    link.accept(source=source, offered_capabilities=offered(link))
    connection.connect(link, outgoing)
    outgoing.serve()
