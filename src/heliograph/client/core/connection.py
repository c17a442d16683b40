"""A connection as the application sees it: one object over any number of network connections to several servers.

The driver (a front end, or a test) reports network events: `connected`, `disconnected`, `received`; and it calls
`flush` at the end of each turn, which moves waiting messages to links and returns the bytes to write. Everything runs
in the driver's thread.

States, and what leads from one to the next:

- *Connecting* (`_up` is false): `connect_to_any` tries servers one by one with `try_server`, which dials, greets,
  begins sessions and attaches links again. Steps that need the server wait in `when_connected`. The first time, every
  server is tried once; after a loss, for ever, unless all refuse us.
- *Up*: the sessions work. `_lost` ends this state, whichever side ended the connection: all waiters for an answer get
  `Interrupted`, sessions forget what was delivered on the old connection, senders keep what was not settled, and a new
  round of connecting begins if the settings want it.
- *Over* (`problem` is set): `_finish` has reported the reason to all users. The cause is `close`, or a server that
    refuses us for good. This state is final.

An event of the engine goes to the `context` of its session or link: a `SessionCore` or a `LinkEnd`. A context of None
means that nobody waits for it any more.
"""

from contextlib import suppress
from math import inf
from typing import TypeVar

from heliograph import __version__
from heliograph.amqp import (
    ANONYMOUS,
    EXTERNAL,
    PLAIN,
    Attached,
    Begun,
    Closed,
    Connection,
    Credentials,
    Described,
    Detached,
    Ended,
    Error,
    Event,
    ExpiryPolicy,
    Flowed,
    Opened,
    Options,
    Receiver,
    Sender,
    Settled,
    Source,
    Target,
    Transfers,
    ULong,
    conditions,
)
from heliograph.client.core.failover import Redirected, connect_to_any
from heliograph.client.core.link_end import LinkEnd
from heliograph.client.core.sender import SenderEnd
from heliograph.client.core.session import SessionCore
from heliograph.client.core.session_links import SessionLinks
from heliograph.client.core.settings import Acknowledge, Server, Servers, Settings
from heliograph.client.core.subscriptions import OUTCOMES
from heliograph.client.core.wire import Driver, Interrupted, Timer, Wire
from heliograph.client.destination import TemporaryQueue, TemporaryTopic
from heliograph.client.errors import (
    ConnectionLost,
    IllegalState,
    InvalidDestination,
    MessagingProblem,
    NoAnswer,
    problem_from,
)
from heliograph.client.pending import Pending, all_of, start
from heliograph.common.pieces import Piece

T = TypeVar("T")
K = TypeVar("K", TemporaryQueue, TemporaryTopic)

DESIRED = ("sole-connection-for-container", "DELAYED_DELIVERY", "ANONYMOUS-RELAY", "SHARED-SUBS")
_REFUSAL_FOLLOWS = "amqp:connection-establishment-failed"
_OWN_PRODUCT = "heliograph"


_DELETE_ON_CLOSE = Described(ULong(0x2B), [])


class TemporaryLink(SenderEnd):
    """The link that keeps a temporary destination alive. Nothing is sent on it."""

    def __init__(self, session: SessionLinks, kind: type[TemporaryQueue] | type[TemporaryTopic]) -> None:
        super().__init__(session, f"a new {kind.capability}")
        self.destination = kind.made("", lambda: start(session.remove(self)))

    def make_link(self) -> Sender:
        return self.session.engine.attach_sender(
            self.connection.link_name(self.destination.capability),
            Target(
                expiry_policy=ExpiryPolicy.LINK_DETACH,
                dynamic=True,
                dynamic_node_properties={"lifetime-policy": _DELETE_ON_CLOSE},
                capabilities=(self.destination.capability,),
            ),
            source=Source(outcomes=OUTCOMES),
        )

    def ready(self) -> None:
        """The server says what it is called; after a reconnection that is another name."""
        assert self.link is not None
        assert isinstance(self.link.target, Target)
        self.destination.name = str(self.link.target.address)


class Unsubscribing(LinkEnd[Receiver]):
    """Asks for a subscription by its name alone, in order to close it."""

    def __init__(self, session: SessionLinks, name: str, link_name: str) -> None:
        super().__init__(session, f"subscription {name!r}")
        self._link_name = link_name

    def make_link(self) -> Receiver:
        return self.session.engine.attach_receiver(self._link_name, None, target=Target())

    def is_refusal(self, link: Receiver) -> bool:
        return link.remote is None or link.remote.source is None


class ConnectionCore(Wire):
    """The state of one connection, whatever network connections it goes through."""

    def __init__(self, servers: Servers, settings: Settings, driver: Driver, *, external: bool = False) -> None:
        """With `external`, a server may know us by our certificate."""
        super().__init__(settings, driver, servers.current)
        self.servers = servers
        self._external = external
        self._up = False
        self._dialing: Pending[None] | None = None
        self._opened: Pending[None] = Pending()
        self._closing: Pending[None] | None = None
        self._ticking: Timer | None = None
        self._service = SessionCore(self, Acknowledge.AUTO, self._temporary_queue, self._forget_session)
        """Carries temporary destinations and the like, which belong to no session of the application."""
        self._sessions: list[SessionCore] = []

    # For the driver.

    def connected(self) -> None:
        """The network connection is established."""
        if self._dialing is not None:
            self._dialing.resolve(None)

    def disconnected(self, reason: str) -> None:
        """The network connection is lost, or could not be made."""
        problem = ConnectionLost(f"{self.server}: {reason}")
        if self._dialing is not None:
            self._dialing.fail(problem)
        else:
            self._lost(problem)

    def received(self, data: bytes) -> None:
        """Take received bytes."""
        if self.engine is not None:
            self._handle(self.engine.receive(data, self.driver.now()))
            self.driver.wake()

    def flush(self) -> list[Piece]:
        """Move waiting messages to links, and return the bytes to write."""
        self.pump()
        engine = self.engine
        if engine is None:
            return []
        engine.flush()
        output, engine.output = engine.output, []
        return output

    def _tick(self) -> None:
        engine = self.engine
        if engine is None:
            return
        events, due = engine.tick(self.driver.now())
        self._handle(events)
        self.driver.wake()
        if due != inf and self.engine is engine:
            self._ticking = self.driver.later(max(0.0, due - self.driver.now()), self._tick)

    # For the application.

    def open(self) -> Pending[None]:
        """Connect for the first time: each server is tried once."""
        return start(self._open())

    async def _open(self) -> None:
        try:
            await connect_to_any(self, patient=False)
        except MessagingProblem as problem:
            self._finish(problem)
            raise
        self._established()

    def close(self) -> Pending[None]:
        """Close everything: wait for messages in flight, and release prefetched ones."""
        return start(self._close())

    async def _close(self) -> None:
        if self.problem is not None or self._closing is not None:
            return
        self._closing = Pending()
        if self._up:
            # The connection ends in any case.
            with suppress(MessagingProblem):
                await self._close_orderly(self._closing)
        self._finish(IllegalState("the connection is closed"))

    async def _close_orderly(self, closed: Pending[None]) -> None:
        for session in list(self._sessions):
            await session.finish_sending()
            for consumer in session.consumers:
                # Messages on their way to us are released, too: the application has not seen them, so they have not
                # failed.
                await consumer.pause()
            session.abandon()
        if self.engine is not None:
            # Acknowledgements must be written before the close.
            self.pump()
            self.settle_now()
            self.engine.close()
            self.driver.wake()
            await self.ask(closed, "closing the connection")

    def session(self, mode: Acknowledge) -> Pending[SessionCore]:
        """Open a session."""
        return start(self._session(mode))

    async def _session(self, mode: Acknowledge) -> SessionCore:
        self.check()
        session = SessionCore(self, mode, self._temporary_queue, self._forget_session)
        await self.when_connected(session.begin)
        self._sessions.append(session)
        return session

    def _forget_session(self, session: SessionCore) -> None:
        """It is closed."""
        if session in self._sessions:
            self._sessions.remove(session)

    async def temporary(self, kind: type[K]) -> K:
        """Have the server make a temporary queue or topic."""
        self.check()
        link = TemporaryLink(self._service, kind)
        await self._service.add(link)
        return link.destination  # type: ignore[return-value]

    async def _temporary_queue(self) -> TemporaryQueue:
        return await self.temporary(TemporaryQueue)

    async def unsubscribe(self, name: str) -> None:
        """Delete a durable subscription."""
        self.check()
        link = Unsubscribing(self._service, name, self.subscriptions.to_unsubscribe(name))

        async def attach_and_close() -> None:
            await link.attach()
            await link.detach()

        await self.when_connected(attach_and_close)

    # For connecting.

    async def try_server(self, server: Server) -> None:
        """Connect to one server, authenticate, and restore the sessions."""
        self.server = server
        self._dialing = Pending()
        late = NoAnswer(f"{server} did not answer in {self.settings.timeout:g} seconds")
        timer = self.driver.later(self.settings.timeout, lambda: dialing.fail(late))
        dialing = self._dialing
        self.driver.dial(server)
        try:
            await dialing
        except MessagingProblem:
            self.driver.hang_up()
            raise
        finally:
            timer.cancel()
            self._dialing = None
        try:
            await self._introduce(server)
            await self._service.restore()
            await all_of([start(session.restore()) for session in self._sessions])
        except Interrupted as interruption:
            raise interruption.problem from None
        except MessagingProblem as problem:
            self._lost(problem)
            raise

    async def _introduce(self, server: Server) -> None:
        self.engine = Connection(self._options(server), server=False)
        self._opened = Pending()
        self.engine.open()
        self._tick()
        await self.ask(self._opened, f"connecting to {server}")

    def _options(self, server: Server) -> Options:
        if server.user is not None:
            credentials = Credentials(PLAIN, server.user, server.password or "")
        else:
            credentials = Credentials(EXTERNAL if self._external and server.tls else ANONYMOUS)
        return Options(
            container_id=self.settings.identity,
            hostname=server.virtual_host,
            idle_timeout=round(self.settings.idle_timeout * 1000),
            desired_capabilities=DESIRED,
            properties={"product": _OWN_PRODUCT, "version": __version__},
            credentials=credentials,
        )

    # What comes from the server.

    def _handle(self, events: list[Event]) -> None:
        for event in events:
            match event:
                case Transfers(link, deliveries):
                    if link.context is not None:
                        link.context.transfers(deliveries)
                case Settled(link, first, last, state, settled):
                    if link.context is not None:
                        link.context.settled(first, last, state, settled)
                case Flowed(link):
                    if link.context is not None:
                        link.context.flowed()
                case Attached(link):
                    if link.context is not None:
                        link.context.attached(link)
                case Detached(link):
                    if link.context is not None:
                        link.context.detached(event)
                    else:
                        link.detach(closed=event.closed)
                case Begun(session):
                    if session.context is not None:
                        session.context.begun()
                case Ended(session, error):
                    if session.context is not None:
                        session.context.ended(error)
                case Opened():
                    self._greeted(event)
                case Closed(error):
                    self._closed(error)

    def _greeted(self, event: Opened) -> None:
        answer = event.open
        properties = answer.properties or {}
        self.capabilities = frozenset(answer.offered_capabilities)
        self.rabbitmq_3 = (properties.get("product"), str(properties.get("version"))[:2]) == ("RabbitMQ", "3.")
        self.prefixes = {
            kind: prefix
            for kind in ("queue", "topic")
            if isinstance(prefix := properties.get(f"{kind}-prefix"), str) and prefix
        }
        self.servers.announced(properties.get("failover-server-list"))
        if properties.get(_REFUSAL_FOLLOWS):
            return
        wanted = self.server.hostname
        if wanted and properties.get("product") == _OWN_PRODUCT and wanted != answer.container_id:
            # It redirects clients that ask for a queue manager of their own, and serves all others itself.
            self._opened.fail(
                InvalidDestination(f"{self.server}: there is no queue manager {wanted}, only {answer.container_id}")
            )
            return
        self._opened.resolve(None)

    def _closed(self, error: Error | None) -> None:
        if self._closing is not None:
            self._closing.resolve(None)
            return
        problem = problem_from(error, str(self.server), ConnectionLost)
        if error is not None and error.condition == conditions.CONNECTION_REDIRECT:
            other = self.servers.redirected(error.info)
            problem = problem if other is None else Redirected(str(problem), other)
        self._lost(problem)

    def _lost(self, problem: MessagingProblem) -> None:
        """The connection to this server is lost, whichever side ended it."""
        if self.engine is None:
            return
        self.driver.hang_up()
        self.engine = None
        if self._ticking is not None:
            self._ticking.cancel()
        was_up, self._up = self._up, False
        if was_up:
            self._connected = Pending()
        for session in [self._service, *self._sessions]:
            session.interrupted(problem)
        for answer in list(self._asked):
            answer.fail(Interrupted(problem))
        if was_up and self._closing is None:
            self._after_loss(problem)

    def _after_loss(self, problem: MessagingProblem) -> None:
        if not self.settings.reconnect:
            self._finish(problem)
            return
        if self.settings.on_interrupted is not None:
            self.driver.tell(self.settings.on_interrupted, problem)
        start(self._reconnect(problem))

    async def _reconnect(self, problem: MessagingProblem) -> None:
        try:
            await connect_to_any(
                self, patient=True, begin_with=problem.server if isinstance(problem, Redirected) else None
            )
        except MessagingProblem as final:
            self._finish(final)
            return
        self._established()
        if self.settings.on_restored is not None:
            self.driver.tell(self.settings.on_restored, str(self.server))

    def _established(self) -> None:
        self._up = True
        self._connected.resolve(None)
        self.driver.wake()

    def _finish(self, problem: MessagingProblem) -> None:
        """End the connection: nothing is tried again."""
        if self.problem is not None:
            return
        self.problem = problem
        self._up = False
        self.driver.hang_up()
        self.engine = None
        if self._ticking is not None:
            self._ticking.cancel()
        for session in [self._service, *self._sessions]:
            session.end(problem)
        self._sessions.clear()
        for answer in list(self._asked):
            answer.fail(Interrupted(problem))
        self._connected.fail(problem)
