"""A connection as the application has it: made, lost, made again elsewhere, and all that time the same object."""

from collections.abc import Callable, Coroutine
from contextlib import suppress
from itertools import count
from math import inf
from typing import Any, TypeVar

from heliograph import __version__
from heliograph.amqp import (
    ANONYMOUS,
    CONNECTION_REDIRECT,
    EXTERNAL,
    PLAIN,
    Attached,
    Begun,
    Closed,
    Connection,
    Credentials,
    Detached,
    Ended,
    Error,
    Event,
    Flowed,
    Opened,
    Options,
    Session,
    Settled,
    Transfers,
)
from heliograph.client.core.acknowledging import Acknowledge
from heliograph.client.core.driver import Driver, Timer
from heliograph.client.core.failover import Interrupted, Redirected, reach
from heliograph.client.core.link_end import LinkEnd
from heliograph.client.core.servers import Server, Servers
from heliograph.client.core.session import SessionCore
from heliograph.client.core.settings import Settings
from heliograph.client.core.subscribing import SubscriptionNames
from heliograph.client.core.temporary import TemporaryLink, Unsubscribing
from heliograph.client.destination import Destination, TemporaryQueue, TemporaryTopic
from heliograph.client.errors import (
    ConnectionLost,
    IllegalState,
    InvalidDestination,
    MessagingProblem,
    NoAnswer,
    problem_of,
)
from heliograph.client.pending import Pending, all_of, start
from heliograph.common.pieces import Piece
from heliograph.errors import Problem

T = TypeVar("T")
K = TypeVar("K", TemporaryQueue, TemporaryTopic)

DESIRED = ("sole-connection-for-container", "DELAYED_DELIVERY", "ANONYMOUS-RELAY", "SHARED-SUBS")
_REFUSAL_FOLLOWS = "amqp:connection-establishment-failed"
_OWN_PRODUCT = "heliograph"


class ConnectionCore:
    """The state of one connection, whatever network connections it goes through."""

    def __init__(self, servers: Servers, settings: Settings, driver: Driver, *, external: bool = False) -> None:
        """With `external`, a server may know us by our certificate."""
        self.servers = servers
        self.settings = settings
        self.driver = driver
        self.problem: MessagingProblem | None = None
        """Why it is over, once it is."""
        self.capabilities: frozenset[str] = frozenset()
        """What the server offers on all links."""
        self.rabbitmq_3 = False
        """Whether the server is RabbitMQ 3. It ends a session that drains a classic queue, takes new credit to be on
        top of what it has sent meanwhile, and says yes to filters that it then ignores."""
        self.subscriptions = SubscriptionNames(settings.client_id)
        self._external = external
        self._engine: Connection | None = None
        self._server = servers.current
        self._numbers = count(1)
        self._prefixes: dict[str, str] = {}
        self._up = False
        self._connected: Pending[None] = Pending()
        self._dialing: Pending[None] | None = None
        self._opened: Pending[None] = Pending()
        self._closing: Pending[None] | None = None
        self._asked: dict[Pending[Any], None] = {}
        self._touched: dict[LinkEnd[Any], None] = {}
        self._ticking: Timer | None = None
        self._service = SessionCore(self, Acknowledge.AUTO)
        """Carries temporary destinations and the like, which belong to no session of the application."""
        self._sessions: list[SessionCore] = []

    # For the driver.

    def connected(self) -> None:
        """The network connection is there."""
        if self._dialing is not None:
            self._dialing.resolve(None)

    def disconnected(self, reason: str) -> None:
        """The network connection is gone, or did not come about."""
        problem = ConnectionLost(f"{self._server}: {reason}")
        if self._dialing is not None:
            self._dialing.fail(problem)
        else:
            self._lost(problem)

    def received(self, data: bytes) -> None:
        """Bytes came."""
        if self._engine is not None:
            self._handle(self._engine.receive(data, self.driver.now()))
            self.driver.wake()

    def flush(self) -> list[Piece]:
        """Move what waits, and hand over what is to be written."""
        self._pump()
        engine = self._engine
        if engine is None:
            return []
        engine.flush()
        output, engine.output = engine.output, []
        return output

    def _tick(self) -> None:
        engine = self._engine
        if engine is None:
            return
        events, due = engine.tick(self.driver.now())
        self._handle(events)
        self.driver.wake()
        if due != inf and self._engine is engine:
            self._ticking = self.driver.later(max(0.0, due - self.driver.now()), self._tick)

    # For everything on the connection.

    def touch(self, end: LinkEnd[Any]) -> None:
        """Something waits at this end of a link; it is moved at the end of the turn."""
        if not self._touched:
            self.driver.wake()
        self._touched[end] = None

    def settle_now(self) -> None:
        """Put acknowledgements that were gathered before whatever comes next."""
        if self._engine is not None:
            self._engine.flush()

    async def ask(self, answer: Pending[T], doing: str) -> T:
        """Wait for the server's answer, but not for ever, and not longer than the connection lasts."""
        if self._engine is None:
            raise Interrupted(ConnectionLost(f"{doing}: the connection is lost"))
        late = NoAnswer(f"{doing}: {self._server} did not answer in {self.settings.timeout:g} seconds")
        timer = self.driver.later(self.settings.timeout, lambda: answer.fail(late))
        self._asked[answer] = None
        try:
            return await answer
        finally:
            timer.cancel()
            self._asked.pop(answer, None)

    async def when_connected(self, steps: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do something that needs the server; again if the connection is lost meanwhile, unless we were the cause."""
        while True:
            await self._connected
            try:
                return await steps()
            except Interrupted as interruption:
                if interruption.our_fault:
                    raise interruption.problem from None

    def check(self) -> None:
        """Raise if the connection is over."""
        if self.problem is not None:
            raise self.problem

    def next_number(self) -> int:
        """Counts everything on the connection that needs a name of its own."""
        return next(self._numbers)

    def link_name(self, kind: str) -> str:
        """A name for a link that no other has."""
        return f"{self.settings.identity}:{kind}:{self.next_number()}"

    async def make(self, what: Callable[[], T], doing: str) -> T:
        """Make something on the wire."""
        if self._engine is None:
            raise Interrupted(ConnectionLost(f"{doing}: the connection is lost"))
        if self._engine.gone:
            # The server has closed it, and its reason is among the events that are being handled.
            await self.ask(Pending(), doing)
        try:
            made = what()
        except MessagingProblem:
            raise
        except Problem as problem:
            raise MessagingProblem(f"{doing}: {problem}") from problem
        self.driver.wake()
        return made

    def begin(self) -> Session:
        """Begin a session on the wire."""
        if self._engine is None:
            raise Interrupted(ConnectionLost("the connection is lost"))
        return self._engine.begin()

    def address_of(self, place: Destination) -> str:
        """What a destination is called on the wire: some servers want all names of queues or topics to begin alike."""
        prefix = self._prefixes.get(place.capability)
        return place.name if prefix is None or place.name.startswith(prefix) else prefix + place.name

    def name_of(self, address: str) -> str:
        """The name in an address."""
        for prefix in self._prefixes.values():
            if prefix and address.startswith(prefix):
                return address[len(prefix) :]
        return address

    # For the application.

    def open(self) -> Pending[None]:
        """Connect for the first time: each server is tried once."""
        return start(self._open())

    async def _open(self) -> None:
        try:
            await reach(self, patient=False)
        except MessagingProblem as problem:
            self._finish(problem)
            raise
        self._established()

    def close(self) -> Pending[None]:
        """Close everything: messages on their way are waited for, those fetched ahead go back."""
        return start(self._close())

    async def _close(self) -> None:
        if self.problem is not None or self._closing is not None:
            return
        self._closing = Pending()
        if self._up:
            # It is gone either way.
            with suppress(MessagingProblem):
                await self._say_goodbye(self._closing)
        self._finish(IllegalState("the connection is closed"))

    async def _say_goodbye(self, closed: Pending[None]) -> None:
        for session in list(self._sessions):
            await session.finish_sending()
            for consumer in session.consumers:
                # What is on its way to us goes back, too: nobody has seen it, so it has not failed.
                await consumer.pause()
            session.abandon()
        if self._engine is not None:
            # Acknowledgements come before the end.
            self._pump()
            self.settle_now()
            self._engine.close()
            self.driver.wake()
            await self.ask(closed, "closing the connection")

    def _pump(self) -> None:
        while self._touched:
            touched, self._touched = self._touched, {}
            for end in touched:
                end.pump()

    def session(self, mode: Acknowledge) -> Pending[SessionCore]:
        """Open a session."""
        return start(self._session(mode))

    async def _session(self, mode: Acknowledge) -> SessionCore:
        self.check()
        session = SessionCore(self, mode)
        await self.when_connected(session.begin)
        self._sessions.append(session)
        return session

    def forget_session(self, session: SessionCore) -> None:
        """It is closed."""
        if session in self._sessions:
            self._sessions.remove(session)

    async def temporary(self, kind: type[K]) -> K:
        """Have the server make a temporary queue or topic."""
        self.check()
        link = TemporaryLink(self._service, kind)
        await self._service.add(link)
        return link.place  # type: ignore[return-value]

    async def unsubscribe(self, name: str) -> None:
        """Delete a durable subscription."""
        self.check()
        link = Unsubscribing(self._service, name, self.subscriptions.to_unsubscribe(name))

        async def attach_and_close() -> None:
            await link.attach()
            await link.detach()

        await self.when_connected(attach_and_close)

    # For reaching servers.

    async def try_server(self, server: Server) -> None:
        """Connect to one server and see that it lets us in."""
        self._server = server
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
        self._engine = Connection(self._options(server), server=False)
        self._opened = Pending()
        self._engine.open()
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

    async def sleep(self, seconds: float) -> None:
        """Wait; the end of the connection ends it, too."""
        waited: Pending[None] = Pending()
        timer = self.driver.later(seconds, lambda: waited.resolve(None))
        self._asked[waited] = None
        try:
            await waited
        finally:
            timer.cancel()
            self._asked.pop(waited, None)

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
        self._prefixes = {
            kind: prefix
            for kind in ("queue", "topic")
            if isinstance(prefix := properties.get(f"{kind}-prefix"), str) and prefix
        }
        self.servers.announced(properties.get("failover-server-list"))
        if properties.get(_REFUSAL_FOLLOWS):
            return
        wanted = self._server.hostname if self._server is not None else ""
        if wanted and properties.get("product") == _OWN_PRODUCT and wanted != answer.container_id:
            # It sends on whoever asks for a queue manager of its own, and serves everybody else itself.
            self._opened.fail(
                InvalidDestination(f"{self._server}: there is no queue manager {wanted}, only {answer.container_id}")
            )
            return
        self._opened.resolve(None)

    def _closed(self, error: Error | None) -> None:
        if self._closing is not None:
            self._closing.resolve(None)
            return
        problem = problem_of(error, str(self._server), ConnectionLost)
        if error is not None and error.condition == CONNECTION_REDIRECT:
            other = self.servers.redirected(error.info)
            problem = problem if other is None else Redirected(str(problem), other)
        self._lost(problem)

    def _lost(self, problem: MessagingProblem) -> None:
        """The connection to this server is gone, whoever ended it."""
        if self._engine is None:
            return
        self.driver.hang_up()
        self._engine = None
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
            await reach(self, patient=True, begin_with=problem.server if isinstance(problem, Redirected) else None)
        except MessagingProblem as final:
            self._finish(final)
            return
        self._established()
        if self.settings.on_restored is not None:
            self.driver.tell(self.settings.on_restored, str(self._server))

    def _established(self) -> None:
        self._up = True
        self._connected.resolve(None)
        self.driver.wake()

    def _finish(self, problem: MessagingProblem) -> None:
        """It is over for good."""
        if self.problem is not None:
            return
        self.problem = problem
        self._up = False
        self.driver.hang_up()
        self._engine = None
        if self._ticking is not None:
            self._ticking.cancel()
        for session in [self._service, *self._sessions]:
            session.end(problem)
        self._sessions.clear()
        for answer in list(self._asked):
            answer.fail(Interrupted(problem))
        self._connected.fail(problem)
