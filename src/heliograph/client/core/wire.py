"""The AMQP engine of the network connection that there is now, and what sessions and links do with it.

A connection of the application goes through many network connections; each has an engine of its own. `Wire` is the part
of a `ConnectionCore` that everything below it uses: it asks questions, makes sessions and links, and has them moved at
the end of the turn (`touch`). `engine` is None while there is no network connection. Whoever waits for an answer then,
or asks for something, gets `Interrupted`, which never leaves the core: the steps are done again on the next network
connection (`when_connected`), or the link or session is restored there.
"""

from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any, Protocol, TypeVar

from heliograph.amqp import AmqpError, Connection, Session
from heliograph.client.core.settings import Server, Settings
from heliograph.client.core.subscriptions import SubscriptionNames
from heliograph.client.destination import Destination
from heliograph.client.errors import ConnectionLost, MessagingProblem, NoAnswer
from heliograph.client.pending import Pending

T = TypeVar("T")


class Timer(Protocol):
    """A call that will come unless it is cancelled."""

    def cancel(self) -> None: ...


class Driver(Protocol):
    """The outside of a `ConnectionCore`."""

    def now(self) -> float:
        """A clock that only goes forward, in seconds."""

    def later(self, delay: float, call: Callable[[], None]) -> Timer:
        """Call back in `delay` seconds."""

    def dial(self, server: Server) -> None:
        """Begin to connect; the answer is `ConnectionCore.connected` or `ConnectionCore.disconnected`."""

    def hang_up(self) -> None:
        """Write what is left, then drop the network connection or the attempt at one; no answer is wanted."""

    def wake(self) -> None:
        """There may be something to write: call `ConnectionCore.flush` before this turn of the loop ends."""

    def submit(self, call: Callable[[], object]) -> None:
        """Run a call in the core's thread; this may be called from any thread."""

    def tell(self, hook: Callable[..., object], *what: object) -> None:
        """Run one of the user's hooks, where it can do no harm to the core."""


# Error conditions that are about the state of the server, not about our request.
_NOT_OUR_FAULT = {"", "amqp:connection:forced", "amqp:connection:redirect", "amqp:internal-error"}


class Interrupted(ConnectionLost):
    """What was under way failed because the connection was lost. It never leaves the core."""

    def __init__(self, problem: MessagingProblem) -> None:
        super().__init__(str(problem))
        self.problem = problem

    @property
    def our_fault(self) -> bool:
        """Whether the server closed the connection because of our request: repeating the request would have the same
        result."""
        return self.problem.condition not in _NOT_OUR_FAULT


class Movable(Protocol):
    """Has something to move to or from its link at the end of the turn."""

    def pump(self) -> None: ...


class Wire:
    """What sessions and links use of their connection."""

    def __init__(self, settings: Settings, driver: Driver, server: Server) -> None:
        self.settings = settings
        self.driver = driver
        self.server = server
        """The one that is connected, or was last."""
        self.engine: Connection | None = None
        """None while there is no network connection."""
        self.problem: MessagingProblem | None = None
        """Why it is over, once it is."""
        self.capabilities: frozenset[str] = frozenset()
        """What the server offers on all links."""
        self.rabbitmq_3 = False
        """Whether the server is RabbitMQ 3. It ends a session that drains a classic queue, takes new credit to be on
        top of what it has sent meanwhile, and says yes to filters that it then ignores."""
        self.prefixes: dict[str, str] = {}
        """How addresses begin on this server, by the kind of destination."""
        self.subscriptions = SubscriptionNames(settings.client_id)
        self._numbers = count(1)
        self._connected: Pending[None] = Pending()
        self._asked: dict[Pending[Any], None] = {}
        self._touched: dict[Movable, None] = {}

    def touch(self, end: Movable) -> None:
        """Something waits at this end of a link; it is moved at the end of the turn."""
        if not self._touched:
            self.driver.wake()
        self._touched[end] = None

    def settle_now(self) -> None:
        """Put acknowledgements that were gathered before whatever comes next."""
        if self.engine is not None:
            self.engine.flush()

    async def ask(self, answer: Pending[T], doing: str) -> T:
        """Wait for the server's answer, but not for ever, and not longer than the connection lasts."""
        if self.engine is None:
            raise Interrupted(ConnectionLost(f"{doing}: the connection is lost"))
        late = NoAnswer(f"{doing}: {self.server} did not answer in {self.settings.timeout:g} seconds")
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
        if self.engine is None:
            raise Interrupted(ConnectionLost(f"{doing}: the connection is lost"))
        if self.engine.gone:
            # The server has closed it; the reason is in an event that is not handled yet.
            await self.ask(Pending(), doing)
        try:
            made = what()
        except MessagingProblem:
            raise
        except AmqpError as problem:
            raise MessagingProblem(f"{doing}: {problem}") from problem
        self.driver.wake()
        return made

    def begin(self) -> Session:
        """Begin a session on the wire."""
        if self.engine is None:
            raise Interrupted(ConnectionLost("the connection is lost"))
        return self.engine.begin()

    def address_of(self, destination: Destination) -> str:
        """Return the address of a destination: some servers require a prefix for queues or topics."""
        prefix = self.prefixes.get(destination.capability)
        return destination.name if prefix is None or destination.name.startswith(prefix) else prefix + destination.name

    def name_of(self, address: str) -> str:
        """The name in an address."""
        for prefix in self.prefixes.values():
            if prefix and address.startswith(prefix):
                return address[len(prefix) :]
        return address

    def pump(self) -> None:
        """Move what was touched."""
        while self._touched:
            touched, self._touched = self._touched, {}
            for end in touched:
                end.pump()

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
