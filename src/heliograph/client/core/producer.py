"""Producers: messages get their headers here, and find their way to a link."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from itertools import count
from typing import Any

from heliograph.amqp import (
    Accepted,
    Modified,
    Rejected,
    Released,
    Sender,
    SenderSettleMode,
    Source,
    Target,
    TransactionalState,
)
from heliograph.client.core.message_encoding import encode_outgoing
from heliograph.client.core.sender import AnySending, Run, SenderEnd, Sending, SendingInRun, arrived
from heliograph.client.core.session_links import SessionLinks
from heliograph.client.core.subscriptions import OUTCOMES
from heliograph.client.core.wire import Interrupted
from heliograph.client.destination import Destination, destination_of
from heliograph.client.errors import (
    IllegalState,
    InvalidDestination,
    MessageRefused,
    MessagingProblem,
    Unsupported,
    problem_from,
)
from heliograph.client.message import Message
from heliograph.client.pending import Pending, start
from heliograph.errors import InvalidInput

WINDOW = 5000
"""How many messages of a producer may be on their way before the application has to wait."""
_FALLBACK_LINKS = 20


@dataclass(frozen=True)
class SendOptions:
    """How messages are sent."""

    persistent: bool | None = True
    """None leaves it to the queue."""
    priority: int | None = 4
    """None leaves it to the queue."""
    ttl: float | None = None
    """Seconds; None is for ever."""
    delay: float = 0.0
    """Seconds that the server keeps a message before it delivers it."""

    def __post_init__(self) -> None:
        if self.priority is not None and not 0 <= self.priority <= 9:
            raise InvalidInput(f"a priority is 0 to 9, not {self.priority}")
        if self.ttl is not None and self.ttl <= 0:
            raise InvalidInput(f"a message's time to live is more than 0 seconds, not {self.ttl}")
        if self.delay < 0:
            raise InvalidInput(f"a delivery delay cannot be negative, and this is {self.delay}")


class ProducerLink(SenderEnd):
    """A link for messages, to one destination or (None) to any."""

    session: SessionLinks

    def __init__(self, session: SessionLinks, destination: Destination | None, presettled: bool) -> None:
        super().__init__(
            session, "producer without destination" if destination is None else f"producer for {destination}"
        )
        self.destination = destination
        self.presettled = presettled
        self.delays = False
        """Whether the server can delay deliveries."""

    def make_link(self) -> Sender:
        destination, known = self.destination, self.connection.capabilities
        if destination is None:
            target = Target()
        else:
            target = Target(address=self.connection.address_of(destination), capabilities=(destination.capability,))
        return self.session.engine.attach_sender(
            self.connection.link_name("producer"),
            target,
            source=Source(outcomes=OUTCOMES),
            snd_settle_mode=SenderSettleMode.SETTLED if self.presettled else SenderSettleMode.UNSETTLED,
            desired_capabilities=() if "DELAYED_DELIVERY" in known else ("DELAYED_DELIVERY",),
        )

    def ready(self) -> None:
        super().ready()
        assert self.link is not None
        assert self.link.remote is not None
        offered = self.connection.capabilities.union(self.link.remote.offered_capabilities)
        self.delays = "DELAYED_DELIVERY" in offered

    def outcome(self, sendings: list[AnySending], state: Any) -> None:
        if type(state) is TransactionalState:
            state = state.outcome
        if type(state) is Accepted:
            arrived(sendings)
            return
        for sending in sendings:
            problem = _refusal(state, self.what)
            if self.session.transaction is not None and self.session.transaction.failure is None:
                self.session.transaction.failure = problem
            sending.done.fail(problem)

    def ended(self, problem: MessagingProblem) -> None:
        if self.outstanding and self.session.transaction is not None:
            self.session.transaction.failure = problem
        super().ended(problem)


def _refusal(state: Any, what: str) -> MessagingProblem:
    match state:
        case Rejected(error=error):
            return problem_from(error, f"{what}: the server rejected a message", MessageRefused)
        case Released():
            return MessageRefused(f"{what}: the server released a message; the destination may have no consumers")
        case Modified():
            return MessageRefused(f"{what}: the server gave a message back")
        case _:
            return MessageRefused(f"{what}: the server did not accept a message; it said {state!r}")


class ProducerCore:
    """A producer of a session."""

    def __init__(
        self, session: SessionLinks, destination: Destination | None, options: SendOptions, presettled: bool
    ) -> None:
        self.session = session
        self.connection = session.connection
        self.destination = destination
        self.options = options
        self._presettled = presettled
        self._to = ""
        self._prefix = f"ID:{session.connection.settings.container_id}:{session.connection.next_number()}-"
        self._count = count(1)
        self._links: dict[str, ProducerLink] = {}
        """The link by address; the one for any destination has the address ''."""
        self._coming: dict[str, ProducerLink] = {}
        """Those that are being attached, by address. Messages wait in them."""
        self.on_the_way = 0
        self._room: Pending[None] | None = None
        self.closed = False

    async def open(self) -> None:
        """Attach the link, if one will do for everything."""
        if self.destination is not None or self._relayed:
            await self._attach(ProducerLink(self.session, self.destination, self._presettled))

    @property
    def _relayed(self) -> bool:
        return "ANONYMOUS-RELAY" in self.connection.capabilities

    async def _attach(self, link: ProducerLink) -> None:
        await self.session.add(link)
        self._links["" if link.destination is None else link.destination.name] = link

    def options_with(self, changes: dict[str, Any]) -> SendOptions | None:
        """How a message is sent that asks for something else than the others; None if it does not."""
        if not changes:
            return None
        try:
            return replace(self.options, **changes)
        except TypeError:
            known = ", ".join(sorted(each.name for each in fields(SendOptions)))
            raise InvalidInput(f"a message can be sent with {known}, not with {', '.join(sorted(changes))}") from None

    def prepare(
        self, message: Any, to: Destination | str | None, options: SendOptions | None
    ) -> tuple[Destination, Sending]:
        """Set the headers of a message and encode it; any thread."""
        if not isinstance(message, Message):
            message = Message(message)
        destination = self.destination_for(to)
        self.identify(message)
        return destination, Sending(self.encode(message, destination, options or self.options))

    def identify(self, message: Message) -> None:
        """Give a message its own id; any thread."""
        message.message_id = self._prefix + str(next(self._count))

    def encode(self, message: Message, destination: Destination, options: SendOptions) -> bytes:
        """The bytes of a message as it is sent now."""
        now = time.time()
        message.destination = destination
        message.timestamp = now
        message.persistent = bool(options.persistent)
        message.priority = 4 if options.priority is None else options.priority
        message.delivery_time = None
        if options.delay:
            self._check_delays(destination)
            message.delivery_time = now + options.delay
        message.expiration = None if options.ttl is None else now + options.delay + options.ttl
        address_of = self.connection.address_of
        return encode_outgoing(
            message, address_of(destination), address_of, options.persistent, options.priority, options.ttl
        )

    def _check_delays(self, destination: Destination) -> None:
        link = self._links.get("") or self._links.get(destination.name)
        if link is not None and not link.delays:
            raise Unsupported(f"{destination}: the server does not support delayed delivery")

    def destination_for(self, to: Destination | str | None) -> Destination:
        """The destination of a message that is sent `to` somewhere; None is the destination of the producer."""
        if to is None:
            if self.destination is None:
                raise InvalidDestination("a producer without destination needs one for each message")
            return self.destination
        if self.destination is not None:
            raise IllegalState(
                f"this producer sends to {self.destination} only; make one without destination to send anywhere"
            )
        return destination_of(to)

    def submit(self, destination: Destination, sending: Sending) -> None:
        """Send a prepared message."""
        if not self._may_submit([sending]):
            return
        self.on_the_way += 1
        sending.done.when_done(self._arrived)
        link = self._links.get("") or self._links.get(destination.name)
        if link is not None:
            link.put(sending)
        else:
            self._fall_back(destination, sending)

    def submit_run(self, destination: Destination, payloads: Sequence[bytes]) -> Run:
        """Send messages that are encoded already, all to one destination."""
        run = Run(len(payloads))
        sendings = [SendingInRun(payload, run, at) for at, payload in enumerate(payloads)]
        if not self._may_submit(sendings):
            return run
        link = self._links.get("") or self._links.get(destination.name)
        if link is not None:
            link.put_run(sendings)
        else:
            self._fall_back(destination, *sendings)
        return run

    def _may_submit(self, sendings: Sequence[AnySending]) -> bool:
        """Whether messages can be sent at all; if not, their outcome is set."""
        problem = self._closed_by()
        if problem is not None:
            for sending in sendings:
                sending.done.fail(problem)
            return False
        transaction = self.session.transaction
        if transaction is not None:
            transaction.used = True
            if transaction.rollback_only:
                # Nothing of this unit will arrive, and the commit will say so.
                for sending in sendings:
                    sending.done.resolve(None)
                return False
        return True

    def _closed_by(self) -> MessagingProblem | None:
        if self.closed:
            return IllegalState("the producer is closed")
        try:
            self.session.check()
            for link in self._links.values():
                link.check()
        except MessagingProblem as problem:
            return problem
        return None

    def _fall_back(self, destination: Destination, *sendings: AnySending) -> None:
        """For servers that do not route by message: a link for each destination."""
        coming = self._coming.get(destination.name)
        link = coming or ProducerLink(self.session, destination, self._presettled)
        for sending in sendings:
            link.put(sending)
        if coming is None:
            # Messages first: if it cannot be attached, they are told.
            self._coming[destination.name] = link
            start(self._attach(link)).when_done(lambda _: self._coming.pop(destination.name))
            self._limit_links()

    def _limit_links(self) -> None:
        idle = [name for name, link in self._links.items() if not link.outstanding]
        for name in idle[: max(0, len(self._links) - _FALLBACK_LINKS)]:
            start(self.session.remove(self._links.pop(name)))

    def _arrived(self, _: Pending[Any]) -> None:
        self.on_the_way -= 1
        if self._room is not None and self.on_the_way < WINDOW:
            room, self._room = self._room, None
            room.resolve(None)

    def room(self) -> Pending[None]:
        """Done when there is room for more messages on the way."""
        if self._room is None:
            self._room = Pending()
            if self.on_the_way < WINDOW:
                room, self._room = self._room, None
                room.resolve(None)
                return room
        return self._room

    async def close(self) -> None:
        """Wait for what is on its way, then detach."""
        if self.closed:
            return
        self.closed = True
        links = [*self._links.values(), *self._coming.values()]
        self._links = {}
        for link in links:
            with suppress(Interrupted):
                await link.finish()
            await self.session.remove(link)

    def drop(self) -> None:
        """Forget what is on its way."""
        for link in (*self._links.values(), *self._coming.values()):
            for sending in link.drop():
                sending.done.resolve(None)
