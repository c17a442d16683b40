"""The client for asyncio: `async with connect("amqp://localhost") as connection: ...`."""

import asyncio
import inspect
import ssl
from collections.abc import Awaitable, Callable, Generator, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from heliograph.client.core.connection import ConnectionCore
from heliograph.client.core.consumer import ReceiverEnd
from heliograph.client.core.producer import WINDOW, ProducerCore, SendOptions
from heliograph.client.core.session import SessionCore
from heliograph.client.core.settings import Acknowledge, Servers, settings_of
from heliograph.client.destination import Destination, Queue, TemporaryQueue, TemporaryTopic, Topic, destination_of
from heliograph.client.errors import MessagingProblem
from heliograph.client.message import Message
from heliograph.client.network import LOG, Network, run_callback, tls_context
from heliograph.client.pending import Pending, start

T = TypeVar("T")
Listener = Callable[[Message], object]
# How many messages a listener gets before other tasks have their turn.
_FAIR_RUN = 100


async def _result(pending: Pending[T]) -> T:
    """Wait for the core in the way of asyncio."""
    if not pending.done:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        pending.when_done(lambda _: None if future.done() else future.set_result(None))
        await future
    return pending.result()


def connect(
    servers: str | Iterable[str],
    *,
    client_id: str | None = None,
    prefetch: int | None = None,
    timeout: float | None = None,
    idle_timeout: float | None = None,
    reconnect: bool | None = None,
    on_interrupted: Callable[[MessagingProblem], object] | None = None,
    on_restored: Callable[[str], object] | None = None,
    tls: ssl.SSLContext | None = None,
    ca: str | Path | None = None,
    cert: str | Path | None = None,
    key: str | Path | None = None,
    verify: bool = True,
) -> "Connecting":
    """Connect to the first server that accepts us: `await connect(...)`, or `async with connect(...) as connection`.

    The arguments are those of `heliograph.client.connect`. The hooks may be coroutine functions.
    """
    given = {
        "client_id": client_id,
        "prefetch": prefetch,
        "timeout": timeout,
        "idle_timeout": idle_timeout,
        "reconnect": reconnect,
        "on_interrupted": on_interrupted,
        "on_restored": on_restored,
    }
    known, in_url = Servers.of(servers)
    settings = settings_of(in_url, given)
    context = tls_context(tls, ca, cert, key, verify)
    return Connecting(lambda: Connection(Network(known, settings, context, external=bool(tls or cert))))


class Connecting:
    """A connection that is being made: await it, or enter it."""

    def __init__(self, make: Callable[[], "Connection"]) -> None:
        self._make = make
        self._connection: Connection | None = None

    async def _open(self) -> "Connection":
        connection = self._make()
        try:
            await connection.open()
        except BaseException:
            await connection.close()
            raise
        return connection

    def __await__(self) -> Generator[Any, None, "Connection"]:
        return self._open().__await__()

    async def __aenter__(self) -> "Connection":
        self._connection = await self._open()
        return self._connection

    async def __aexit__(self, *_: object) -> None:
        if self._connection is not None:
            await self._connection.close()


class _Closing:
    """What can be closed, and closes at the end of `async with`."""

    async def close(self) -> None:
        """End it."""
        raise AssertionError("everything that closes says how")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Connection(_Closing):
    """A connection to one of the servers, and to another when that one is lost."""

    def __init__(self, network: Network) -> None:
        self._core = network.core
        self._network = network
        self._sessions: list[Session] = []

    async def open(self) -> None:
        """Connect for the first time; `connect` does this."""
        await _result(self._core.open())

    async def session(self, acknowledge: Acknowledge | str = Acknowledge.AUTO) -> "Session":
        """Open a session: "auto", "client", "dups-ok", "individual", "transacted" or "none", see `Acknowledge`."""
        session = Session(self._core, await _result(self._core.session(Acknowledge(acknowledge))))
        self._sessions = [each for each in self._sessions if each.is_open] + [session]
        return session

    async def close(self) -> None:
        """Wait for messages on their way, give back those fetched ahead, and close. Unfinished work is undone."""
        for session in self._sessions:
            await session.stop_listening()
        await _result(self._core.close())
        await self._network.quiet()


class Session(_Closing):
    """Producers and consumers that share one way to acknowledge, or one unit of work."""

    def __init__(self, connection: ConnectionCore, core: SessionCore) -> None:
        self._connection = connection
        self._core = core
        self._listening: _Listening | None = None

    async def producer(
        self,
        destination: Destination | str | None = None,
        *,
        presettled: bool = False,
        persistent: bool | None = True,
        priority: int | None = 4,
        ttl: float | None = None,
        delay: float = 0.0,
    ) -> "Producer":
        """Make a producer; without a destination, each message is sent with one. See the blocking face for the rest."""
        destination = None if destination is None else destination_of(destination)
        core = ProducerCore(self._core, destination, SendOptions(persistent, priority, ttl, delay), presettled)
        await _result(start(core.open()))
        return Producer(core)

    async def consumer(
        self,
        destination: Destination | str,
        *,
        selector: str = "",
        no_local: bool = False,
        subscription: str = "",
        durable: bool = False,
        shared: bool = False,
        prefetch: int | None = None,
    ) -> "Consumer":
        """Make a consumer of a queue or topic. See the blocking face for the arguments."""
        core = self._core.consumer(
            destination_of(destination),
            selector=selector,
            no_local=no_local,
            subscription=subscription,
            durable=durable,
            shared=shared,
            prefetch=prefetch,
        )
        await _result(start(self._core.add(core)))
        return Consumer(core, self._listen)

    async def browser(self, queue: Queue | TemporaryQueue | str, *, selector: str = "") -> "Browser":
        """Look at the messages of a queue without taking them: `async for message in browser`."""
        core = self._core.consumer(destination_of(queue), selector=selector, browse=True)
        await _result(start(self._core.add(core)))
        return Browser(core)

    async def temporary_queue(self) -> TemporaryQueue:
        """Make a queue that lives as long as the connection."""
        return await _result(start(self._connection.temporary(TemporaryQueue)))

    async def temporary_topic(self) -> TemporaryTopic:
        """Make a topic that lives as long as the connection."""
        return await _result(start(self._connection.temporary(TemporaryTopic)))

    async def delete(self, temporary: TemporaryQueue | TemporaryTopic) -> None:
        """Delete a temporary queue or topic before its time."""
        await _result(temporary.remover()())

    async def unsubscribe(self, name: str) -> None:
        """Delete a durable subscription that has no consumer."""
        await _result(start(self._connection.unsubscribe(name)))

    async def request(self, destination: Destination | str, message: Any, timeout: float | None = None) -> Message:
        """Send a request and wait for its reply; `NoAnswer` when there is none in `timeout` seconds."""
        self._core.check()
        return await _result(start(self._core.requests.request(destination, message, timeout)))

    async def commit(self) -> None:
        """Make permanent what was sent and received since the last commit; `TransactionRolledBack` if it cannot be."""
        await _result(start(self._core.commit()))

    async def rollback(self) -> None:
        """Undo what was sent and received since the last commit."""
        await _result(start(self._core.roll_back()))

    async def recover(self) -> None:
        """Have all messages again that were received and not acknowledged."""
        await _result(start(self._core.recover()))

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""
        return not self._core.closed

    async def stop_listening(self) -> None:
        """Call no listener any more; one that is at work is cancelled."""
        if self._listening is not None:
            await self._listening.stop()

    async def close(self) -> None:
        """Close it with its producers and consumers. Unfinished work is undone."""
        await self.stop_listening()
        await _result(start(self._core.close()))

    def _listen(self, core: ReceiverEnd, listener: Listener) -> None:
        if self._listening is None:
            self._listening = _Listening()
        self._listening.add(core, listener)


class Receipt:
    """The fate of a message that was sent without waiting: await it."""

    __slots__ = ("_pending",)

    def __init__(self, pending: Pending[Any]) -> None:
        self._pending = pending

    def done(self) -> bool:
        """Whether the server has answered."""
        return self._pending.done

    def add_done_callback(self, callback: Callable[["Receipt"], object]) -> None:
        """Call back with this when the server has answered."""
        self._pending.when_done(lambda _: run_callback(callback, self))

    def result(self) -> None:
        """Raise what went wrong, if it is done and something did."""
        self._pending.result()

    def __await__(self) -> Generator[Any, None, None]:
        return _result(self._pending).__await__()


class Producer(_Closing):
    """Sends messages."""

    def __init__(self, core: ProducerCore) -> None:
        self._core = core

    async def send(self, message: Any, to: Destination | str | None = None, **options: Any) -> None:
        """Send a `Message` (or just a body) and wait until the server has accepted it.

        `persistent`, `priority`, `ttl` and `delay` hold for this message. A transacted session does not
        wait: failures are reported by the commit.
        """
        core = self._core
        destination, sending = core.prepare(message, to, core.options_with(options))
        core.submit(destination, sending)
        if core.session.transaction is None:
            await _result(sending.done)
        elif core.on_the_way >= WINDOW:
            await _result(core.room())

    async def send_async(self, message: Any, to: Destination | str | None = None, **options: Any) -> Receipt:
        """Send without waiting for the answer; the receipt has it. Waits only while too much is on its way."""
        core = self._core
        destination, sending = core.prepare(message, to, core.options_with(options))
        core.submit(destination, sending)
        if core.on_the_way >= WINDOW:
            await _result(core.room())
        return Receipt(sending.done)

    async def close(self) -> None:
        """Wait for messages on their way, and end it."""
        await _result(start(self._core.close()))


class Consumer(_Closing):
    """Receives messages: `async for message in consumer`, `receive`, or a listener."""

    def __init__(self, core: ReceiverEnd, listen: Callable[[ReceiverEnd, Listener], None]) -> None:
        self._core = core
        self._listen = listen

    async def receive(self, timeout: float | None = None) -> Message | None:
        """Wait for a message, for ever or `timeout` seconds; None if the server has none then."""
        core = self._core
        deadline = None if timeout is None else core.connection.driver.now() + timeout
        while (message := core.next()) is None:
            left = None if deadline is None else max(0.0, deadline - core.connection.driver.now())
            if not await _result(core.arrival(left)) and left is not None:
                return None
        core.connection.touch(core)
        return message

    async def receive_nowait(self) -> Message | None:
        """A message if the server has one, else None."""
        return await self.receive(0)

    def listen(self, listener: Listener | Callable[[Message], Awaitable[object]]) -> None:
        """Have all messages from now on given to a function or coroutine function, one after the other.

        All listeners of a session take turns. A message that makes it raise counts as failed and comes again.
        """
        self._listen(self._core, listener)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        message = None if self._core.closed and self._core.problem is None else await self.receive()
        if message is None:
            raise StopAsyncIteration
        return message

    async def close(self) -> None:
        """End it. What it fetched ahead goes back; a durable subscription stays."""
        await _result(start(self._core.close()))


class Browser(_Closing):
    """The messages of a queue as they are now."""

    def __init__(self, core: ReceiverEnd) -> None:
        self._core = core

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        core = self._core
        while (message := core.next()) is None:
            if not await _result(core.arrival(0)):
                raise StopAsyncIteration
        core.connection.touch(core)
        return message

    async def close(self) -> None:
        """End it."""
        await _result(start(self._core.close()))


class _Listening:
    """The task in which the listeners of a session take turns."""

    def __init__(self) -> None:
        self._listeners: dict[ReceiverEnd, Listener] = {}
        self._news = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def add(self, core: ReceiverEnd, listener: Listener) -> None:
        self._listeners[core] = listener
        core.on_ready = self._news.set
        self._news.set()

    async def _run(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            for core, listener in list(self._listeners.items()):
                await self._listen(core, listener)

    async def _listen(self, core: ReceiverEnd, listener: Listener) -> None:
        for _ in range(_FAIR_RUN):
            item = core.next_for_listener()
            if item is None:
                return
            message, through = item
            try:
                answer = listener(message)
                if inspect.isawaitable(answer):
                    await answer
            except Exception:
                LOG.exception("a listener of %s raised; the message counts as failed", core.subscription.destination)
                through(False)
            else:
                through(True)
            core.connection.touch(core)
        self._news.set()
        await asyncio.sleep(0)

    async def stop(self) -> None:
        """No more messages for listeners."""
        if self._task is not asyncio.current_task():
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


__all__ = [
    "Acknowledge",
    "Browser",
    "Connection",
    "Consumer",
    "Message",
    "Producer",
    "Queue",
    "Receipt",
    "Session",
    "Topic",
    "connect",
]
