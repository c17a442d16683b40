"""A session: producers and consumers with a common acknowledge mode or a common unit of work.

It outlives network connections: `interrupted` when one is lost, `restore` when the next one is there. What the
application received on the lost one can no longer be acknowledged, and comes again; a unit of work that had something
in it can only be rolled back, and the next commit says so.

A message goes from the engine into the `Inbox` of its consumer, and from there to the application, which may be another
thread. `taken` says that it has it. What happens then depends on the mode: it is settled at once (AUTO, DUPS_OK), kept
in `_delivered` until the application acknowledges it (CLIENT, INDIVIDUAL), or in the transaction until that ends. A
consumer that is closed while the application has messages of its own is detached when they are settled (`_lingering`).
"""

from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from heliograph.amqp import Accepted, Delivery, Error
from heliograph.client.core.consumer import ReceiverEnd
from heliograph.client.core.inbox import FAILED, Inbox, begun, settle
from heliograph.client.core.link_end import LinkEnd
from heliograph.client.core.requests import Requests
from heliograph.client.core.session_links import SessionLinks
from heliograph.client.core.settings import Acknowledge
from heliograph.client.core.subscriptions import Subscription
from heliograph.client.core.transaction import Transaction
from heliograph.client.core.wire import Interrupted, Wire
from heliograph.client.destination import Destination, TemporaryQueue
from heliograph.client.errors import IllegalState, MessagingProblem, TransactionRolledBack, problem_from
from heliograph.client.pending import Pending, all_of, start

_ACCEPTED = Accepted()


class SessionCore(SessionLinks):
    """One session of a connection. It outlives the network connection: `restore` makes it again on a new one."""

    def __init__(
        self,
        connection: Wire,
        mode: Acknowledge,
        new_queue: Callable[[], Coroutine[Any, Any, TemporaryQueue]],
        on_closed: Callable[["SessionCore"], None],
    ) -> None:
        """`new_queue` makes a temporary queue for replies to requests; `on_closed` is called by `close`."""
        super().__init__(connection, mode)
        self.requests = Requests(self, new_queue, self.consumer)
        self._on_closed = on_closed
        self._begun: Pending[None] = Pending()
        self._ended: Pending[None] | None = None
        self._delivered: dict[tuple[Inbox, int], Delivery] = {}
        """What the application has and has not acknowledged."""
        self._lingering: list[tuple[Inbox, Callable[[], Coroutine[Any, Any, None]]]] = []
        """Consumers that were closed while the application had messages of theirs."""

    async def begin(self) -> None:
        """Begin on the connection as it is now."""
        self._begun = Pending()
        self._engine = await self.connection.make(self.connection.begin, "opening a session")
        self._engine.context = self
        await self.connection.ask(self._begun, "opening a session")
        if self.transaction is not None:
            await self.transaction.begin()

    def begun(self) -> None:
        """The server's answer."""
        self._begun.resolve(None)

    async def restore(self) -> None:
        """Begin again after a loss, with all links. What cannot be attached any more is closed with the reason."""
        await self.begin()
        await all_of([start(self._restore_link(link)) for link in list(self._links)])
        self.requests.restored()

    async def _restore_link(self, link: LinkEnd[Any]) -> None:
        try:
            await link.attach()
        except MessagingProblem as problem:
            if isinstance(problem, Interrupted):
                raise
            link.end(problem)

    def interrupted(self, reason: MessagingProblem) -> None:
        """The connection is lost. Messages received on it can no longer be acknowledged; they are redelivered."""
        self._engine = None
        self._delivered.clear()
        if self.transaction is not None:
            self.transaction.mark_rollback_only(reason)
            self.transaction.interrupted()
        for link in self._links:
            link.interrupted()
        if self.transaction is not None and self.transaction.rollback_only:
            self._drop_rollback_only()
        self._lingering.clear()
        self.requests.interrupted()

    def _drop_rollback_only(self) -> None:
        """Messages of a lost unit of work are not sent again; the commit fails."""
        for sender in self._senders:
            for sending in sender.drop():
                sending.done.resolve(None)

    def ended(self, error: Error | None) -> None:
        """The server ended the session."""
        if self._ended is not None:
            self._ended.resolve(None)
        else:
            self.end(problem_from(error, "the server ended the session"))

    def end(self, problem: MessagingProblem) -> None:
        """Close the session because of a problem."""
        if self.closed:
            return
        self.closed = True
        self.problem = problem
        self._engine = None
        self._begun.fail(problem)
        if self.transaction is not None:
            self.transaction.end(problem)
        for link in dict.fromkeys([*self._links, *self._expecting]):
            link.end(problem)
        self.requests.end(problem)

    async def close(self) -> None:
        """End the session: unfinished work is undone, and what was fetched ahead goes back."""
        if self.closed:
            return
        await self.finish_sending()
        for link in list(self._links):
            if isinstance(link, ReceiverEnd):
                await link.pause()
                link.absorb()
        self.abandon()
        self.closed = True
        self._on_closed(self)
        problem = IllegalState("the session is closed")
        for link in self._links:
            link.end(problem)
        self.requests.end(problem)
        if self._engine is None:
            return
        self._ended = Pending()
        self._engine.end()
        self.connection.driver.wake()
        with suppress(Interrupted):
            await self.connection.ask(self._ended, "closing a session")

    def abandon(self) -> None:
        """Messages that the application has received and not acknowledged count as failed."""
        delivered, self._delivered = self._delivered, {}
        for (inbox, _), delivery in delivered.items():
            settle(inbox, [delivery], FAILED)

    async def finish_sending(self) -> None:
        """Wait until messages in flight are settled, as long as there is a connection."""
        with suppress(Interrupted):
            for sender in self._senders:
                await sender.finish()

    # Links.

    def forget_consumer(self, consumer: ReceiverEnd) -> None:
        """Remove a consumer that is being closed, so that it is not attached again."""
        if consumer in self._links:
            self._links.remove(consumer)

    def consumer(
        self,
        destination: Destination,
        *,
        selector: str = "",
        no_local: bool = False,
        subscription: str = "",
        durable: bool = False,
        shared: bool = False,
        browse: bool = False,
        prefetch: int | None = None,
    ) -> ReceiverEnd:
        """A consumer or browser that is not attached yet: `add` does that."""
        if subscription or durable or shared:
            source = self.connection.subscriptions.reserve(
                destination, subscription, durable=durable, shared=shared, selector=selector, no_local=no_local
            )
        else:
            name = self.connection.link_name("browser" if browse else "consumer")
            source = Subscription(destination, name, selector=selector, no_local=no_local, browse=browse)
        return ReceiverEnd(self, source, self.connection.settings.prefetch if prefetch is None else prefetch)

    @property
    def consumers(self) -> list[ReceiverEnd]:
        """All that are open."""
        return [link for link in self._links if isinstance(link, ReceiverEnd)]

    # Messages.

    def taken(self, inbox: Inbox, deliveries: list[Delivery]) -> None:
        """Note that the application has received these messages; what follows depends on the acknowledge mode."""
        if deliveries[0].settled:
            return
        if self.reports_received:
            begun(inbox, deliveries)
        match self.mode:
            case Acknowledge.AUTO | Acknowledge.DUPS_OK:
                settle(inbox, deliveries, _ACCEPTED)
            case Acknowledge.CLIENT | Acknowledge.INDIVIDUAL:
                self._delivered |= {(inbox, delivery.number): delivery for delivery in deliveries}
            case Acknowledge.TRANSACTED:
                assert self.transaction is not None
                self.transaction.received(inbox, deliveries)

    def acknowledge(self, inbox: Inbox, delivery: Delivery) -> None:
        """A message was acknowledged by the application."""
        self._absorb()
        if self.mode is Acknowledge.INDIVIDUAL:
            if self._delivered.pop((inbox, delivery.number), None) is not None:
                settle(inbox, [delivery], _ACCEPTED)
        elif self.mode is Acknowledge.CLIENT:
            self._acknowledge_all()
        self._let_go()
        self.connection.driver.wake()

    def _acknowledge_all(self) -> None:
        delivered, self._delivered = self._delivered, {}
        runs: dict[Inbox, list[Delivery]] = {}
        for (inbox, _), delivery in delivered.items():
            runs.setdefault(inbox, []).append(delivery)
        for inbox, deliveries in runs.items():
            settle(inbox, deliveries, _ACCEPTED)

    async def recover(self) -> None:
        """Redeliver what was not acknowledged, without the server."""
        self.check()
        if self.transaction is not None:
            raise IllegalState("a transacted session is rolled back, not recovered")
        self._absorb()
        delivered, self._delivered = self._delivered, {}
        for consumer in self.consumers:
            own = [delivery for (inbox, _), delivery in delivered.items() if inbox is consumer.inbox]
            if own:
                consumer.put_back(consumer.inbox, own)
        kept = {consumer.inbox for consumer in self.consumers}
        self._delivered = {key: delivery for key, delivery in delivered.items() if key[0] not in kept}

    def _absorb(self) -> None:
        for consumer in self.consumers:
            consumer.absorb()

    async def when_settled(self, inbox: Inbox, detach: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Detach a closed consumer: now, or when the application has settled all messages that it received from it."""
        if self._holds(inbox):
            self._lingering.append((inbox, detach))
        else:
            await detach()

    def _holds(self, inbox: Inbox) -> bool:
        if self.transaction is not None:
            return self.transaction.holds(inbox)
        return any(holder is inbox for holder, _ in self._delivered)

    def _let_go(self) -> None:
        lingering, self._lingering = self._lingering, []
        for inbox, detach in lingering:
            if self._holds(inbox):
                self._lingering.append((inbox, detach))
            else:
                start(detach())

    # Units of work.

    def _unit_of_work(self) -> Transaction:
        self.check()
        if self.transaction is None:
            raise IllegalState("the session is not transacted: there is nothing to commit or roll back")
        return self.transaction

    async def commit(self) -> None:
        """Commit everything sent and received since the last time."""
        transaction = self._unit_of_work()
        self._absorb()
        if transaction.waits:
            await self.connection.when_connected(self.finish_sending)
        failure = await self._sent()
        try:
            if failure is not None:
                await self._undo(transaction)
                raise TransactionRolledBack(f"the unit of work was rolled back: {failure}") from failure
            await transaction.commit()
        finally:
            self._new_unit()

    async def _sent(self) -> BaseException | None:
        """Wait for messages in flight; return the first failure in this unit of work, or None."""
        await self.finish_sending()
        return None if self.transaction is None else self.transaction.failure

    async def roll_back(self, *, blame: bool = True) -> None:
        """Undo everything since the last commit; with `blame`, what was received counts as failed."""
        transaction = self._unit_of_work()
        for sender in self._senders:
            sender.drop_waiting()
        await self.finish_sending()
        try:
            # The server rolls back a unit of work whose connection is lost.
            with suppress(Interrupted):
                await self._undo(transaction, blame=blame)
        finally:
            self._new_unit()

    async def _undo(self, transaction: Transaction, *, blame: bool = True) -> None:
        self._absorb()
        # Prefetched messages are released first; otherwise they would overtake those that are rolled back.
        consumers = [consumer for consumer in self.consumers if transaction.holds(consumer.inbox)]
        for consumer in consumers:
            await consumer.pause()
        self._absorb()
        try:
            await transaction.roll_back(blame=blame)
        finally:
            for consumer in consumers:
                consumer.resume()

    def _new_unit(self) -> None:
        self._let_go()
        for link in self._links:
            self.connection.touch(link)
