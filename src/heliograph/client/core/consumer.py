"""The receiving end of a link: messages are prefetched, taken one by one, and settled in ranges.

Theory of operation. The consumer gives credit for `prefetch` messages and renews it when half is used (`_refill`), so
that the server never waits for a round trip. Received messages wait in the `Inbox`. The application takes them from
there in its own thread, and calls `touch`; at the end of the turn the core absorbs what was taken, by the acknowledge
mode of the session. To know that the server has nothing more (`receive` with a timeout), the consumer drains its
credit: the server sends what it has and gives the rest of the credit back. Without prefetch, each `receive` gives
credit for one message."""

import logging
import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, Protocol

from heliograph.amqp import Delivery, Error, Receiver, Released, Target, conditions
from heliograph.client.core.inbox import FAILED, USELESS_HERE, Inbox, settle, take_all
from heliograph.client.core.link_end import LinkEnd, LinkOwner
from heliograph.client.core.message_encoding import decode_incoming
from heliograph.client.core.settings import Acknowledge
from heliograph.client.core.subscriptions import Subscription
from heliograph.client.core.wire import Interrupted
from heliograph.client.errors import InvalidSelector, MessageFormat, MessagingProblem, NoAnswer, problem_from
from heliograph.client.message import Message, ReceivedMessage
from heliograph.client.pending import Pending, start

LOG = logging.getLogger("heliograph.client")
# How long to wait for messages that a server without drain has announced.
_ON_ITS_WAY = 1.0


class ConsumingSession(LinkOwner, Protocol):
    """What consumers use of their session."""

    mode: Acknowledge

    @property
    def reports_received(self) -> bool: ...

    def taken(self, inbox: Inbox, deliveries: list[Delivery]) -> None: ...

    def acknowledge(self, inbox: Inbox, delivery: Delivery) -> None: ...

    def forget_consumer(self, consumer: "ReceiverEnd") -> None: ...

    async def when_settled(self, inbox: Inbox, detach: Callable[[], Coroutine[Any, Any, None]]) -> None: ...


class ReceiverEnd(LinkEnd[Receiver]):
    """A consumer or a browser."""

    session: ConsumingSession

    def __init__(self, session: ConsumingSession, subscription: Subscription, prefetch: int) -> None:
        super().__init__(session, f"consumer of {subscription.destination}")
        self.subscription = subscription
        self.prefetch = prefetch
        self.inbox = Inbox(None)
        self.on_ready: Callable[[], None] | None = None
        """Called whenever messages have arrived; for a listener."""
        self._paused = False
        self._waiters: list[Pending[None]] = []
        self._draining: Pending[None] | None = None
        self._announced: int | None = None
        """How many messages the server said it has, when it last answered."""
        self._on_flow: Pending[None] | None = None

    # For the application's thread.

    def next(self) -> Message | None:
        """Take the next message that is here already; any thread may do so, and then has to see to a `touch`."""
        inbox = self.inbox
        found = self._pop(inbox)
        if found is None:
            return None
        message, delivery = found
        inbox.taken.append(delivery)
        return message

    def next_run(self, most: int) -> list[bytes]:
        """The same for all messages that are here, `most` at most, as bytes that have not been read."""
        inbox = self.inbox
        popleft = inbox.ready.popleft
        deliveries: list[Delivery] = []
        with suppress(IndexError):
            for _ in range(most):
                deliveries.append(popleft())  # noqa: PERF401 - what was taken must not be lost with the exception
        inbox.taken.extend(deliveries)
        return [delivery.payload for delivery in deliveries]

    def next_for_listener(self) -> tuple[Message, Callable[[bool], None]] | None:
        """The same, with a function to be called when the listener has returned: True if it did not raise."""
        inbox = self.inbox
        found = self._pop(inbox)
        if found is None:
            return None
        message, delivery = found
        early = self.session.mode in {Acknowledge.CLIENT, Acknowledge.INDIVIDUAL, Acknowledge.TRANSACTED}
        if early:
            inbox.taken.append(delivery)

        def through(well: bool) -> None:
            if not early:
                (inbox.taken if well else inbox.failed).append(delivery)

        return message, through

    def _pop(self, inbox: Inbox) -> tuple[Message, Delivery] | None:
        while True:
            try:
                delivery = inbox.ready.popleft()
            except IndexError:
                return None
            message = self.message(inbox, delivery)
            try:
                expiration = message.expiration
            except MessageFormat:
                LOG.exception("%s brought something that is no message", self.what)
            else:
                if expiration is None or expiration > time.time():
                    return message, delivery
            inbox.useless.append(delivery)

    def message(self, inbox: Inbox, delivery: Delivery) -> Message:
        """The message in a delivery, its bytes unread."""
        again = inbox.again.get(delivery.number, 0) if inbox.again else 0
        return ReceivedMessage(delivery.payload, again, self, (inbox, delivery))

    def unfold(self, payload: bytes, message: Message) -> None:
        """Read the bytes of a message into its attributes."""
        decode_incoming(payload, message, self.connection.name_of)

    def acknowledge(self, token: tuple[Inbox, Delivery]) -> None:
        """Acknowledge one message; any thread."""
        self.connection.driver.submit(lambda: self.session.acknowledge(*token))

    # For the core.

    def make_link(self) -> Receiver:
        subscription = self.subscription
        return self.session.engine.attach_receiver(
            subscription.link_name,
            subscription.source(self.connection.address_of, reports_received=self.session.reports_received),
            target=Target(),
            snd_settle_mode=subscription.settle_mode(self.session.mode),
            desired_capabilities=subscription.desired,
        )

    def is_refusal(self, link: Receiver) -> bool:
        return link.remote is None or link.remote.source is None

    def attached(self, link: Receiver) -> None:
        problem = None if self.is_refusal(link) else self._unmet(link)
        if problem is not None and self._attaching is not None:
            link.detach(closed=True)
            self._attaching.fail(problem)
        else:
            super().attached(link)

    def refusal(self, error: Error | None) -> MessagingProblem:
        # Only the selector comes from the user, so an invalid field means an invalid selector.
        wrong_selector = (
            error is not None and error.condition == conditions.INVALID_FIELD and self.subscription.selector
        )
        return problem_from(error, self.what, InvalidSelector if wrong_selector else MessagingProblem)

    def _unmet(self, link: Receiver) -> MessagingProblem | None:
        return self.subscription.unmet(link, self.connection.capabilities, trust_filters=not self.connection.rabbitmq_3)

    def ready(self) -> None:
        self.inbox = Inbox(self.link)
        self._announced = None
        self._paused = False
        self.connection.touch(self)

    def interrupted(self) -> None:
        super().interrupted()
        self.inbox = Inbox(None)

    def ended(self, problem: MessagingProblem) -> None:
        if self._draining is not None:
            self._draining.fail(problem)
        self._wake_waiters()

    def released(self) -> None:
        self.connection.subscriptions.release(self.subscription)

    def transfers(self, deliveries: list[Delivery]) -> None:
        self.inbox.ready.extend(deliveries)
        if self._announced:
            self._announced = max(0, self._announced - len(deliveries))
        self._look_for_end_of_drain()
        self._wake_waiters()

    def flowed(self) -> None:
        self._look_for_end_of_drain()
        if self.link is not None:
            self._announced = self.link.available
            if self._on_flow is not None:
                self._on_flow.resolve(None)

    def _look_for_end_of_drain(self) -> None:
        if self._draining is not None and self.link is not None and self.link.credit <= 0:
            self._draining.resolve(None)

    def _wake_waiters(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.resolve(None)
        if self.on_ready is not None:
            self.on_ready()

    def pump(self) -> None:
        self.absorb()
        self._refill()

    def absorb(self) -> None:
        """Process what the application has taken, as the session's acknowledge mode says."""
        inbox = self.inbox
        if inbox.taken:
            self.session.taken(inbox, take_all(inbox.taken))
        if inbox.failed:
            settle(inbox, take_all(inbox.failed), FAILED)
        if inbox.useless:
            settle(inbox, take_all(inbox.useless), USELESS_HERE)

    def _refill(self) -> None:
        """Give new credit when half of it is used."""
        link = self.link
        if link is None or not self.prefetch or self._paused or self.closed or self._draining is not None:
            return
        ready = len(self.inbox.ready)
        if link.credit + ready <= self.prefetch // 2 and not (link.credit and self.connection.rabbitmq_3):
            link.flow(self.prefetch - ready)

    def arrival(self, timeout: float | None) -> Pending[bool]:
        """Wait until a message is ready. False means that at the end of the timeout the server had none, as a drain has
        shown."""
        return start(self._arrival(timeout))

    async def _arrival(self, timeout: float | None) -> bool:
        self.check()
        self.pump()
        if self.inbox.ready:
            return True
        if not self.prefetch and self.link is not None and not self.link.credit and timeout != 0:
            self.link.flow(1)
        self.connection.driver.wake()
        if timeout is None or timeout > 0:
            await self._wait(timeout)
            self.check()
        if not self.inbox.ready and timeout is not None:
            await self.drain()
            self.connection.touch(self)
        return bool(self.inbox.ready)

    async def _wait(self, timeout: float | None) -> None:
        waiter: Pending[None] = Pending()
        self._waiters.append(waiter)
        timer = None if timeout is None else self.connection.driver.later(timeout, lambda: waiter.resolve(None))
        await waiter
        if timer is not None:
            timer.cancel()

    async def drain(self) -> None:
        """Drain: the server sends what it has for its credit and gives the rest of the credit back."""
        if self.link is None:
            return
        if self.connection.rabbitmq_3:
            await self._wait_for_announced()
            return
        if self._draining is not None:
            await self._draining
            return
        self._draining = Pending()
        self.link.flow(max(1, self.link.credit), drain=True)
        self.connection.driver.wake()
        try:
            await self.connection.ask(self._draining, f"draining {self.what}")
        except NoAnswer as problem:
            self.end(problem)
            raise
        except Interrupted:
            # The connection was lost, and the credit with it.
            return
        finally:
            self._draining = None

    async def _wait_for_announced(self) -> None:
        """The replacement of a drain for RabbitMQ 3: wait for the messages that its last flow has announced as
        available."""
        if self._announced is None:
            self._on_flow = Pending()
            timer = self.connection.driver.later(_ON_ITS_WAY, lambda: waiting.resolve(None))
            waiting = self._on_flow
            await waiting
            timer.cancel()
        if self._announced and not self.inbox.ready:
            await self._wait(_ON_ITS_WAY)
        self._announced = 0

    async def pause(self) -> None:
        """Stop prefetching, and release what the application has not seen."""
        self._paused = True
        if self.link is not None and self.link.credit > 0 and not self.connection.rabbitmq_3:
            await self.drain()
        self.give_back()

    def give_back(self) -> None:
        """Release what the application has not seen."""
        self.absorb()
        settle(self.inbox, take_all(self.inbox.ready), Released())

    def resume(self) -> None:
        """Go on after `pause`."""
        self._paused = False
        self.connection.touch(self)

    async def close(self) -> None:
        """End the consumer; what the application has of it may still be acknowledged."""
        if self.closed:
            return
        self.session.forget_consumer(self)
        await self.pause()
        self.closed = True
        self.released()
        self._wake_waiters()
        await self.session.when_settled(self.inbox, lambda: self.detach(closed=not self.subscription.durable))

    def put_back(self, inbox: Inbox, deliveries: Iterable[Delivery]) -> None:
        """Deliver these to the application again, before the others."""
        deliveries = list(deliveries)
        for delivery in deliveries:
            inbox.again[delivery.number] = inbox.again.get(delivery.number, 0) + 1
        inbox.ready.extendleft(reversed(deliveries))
        self._wake_waiters()
