"""The client for ordinary, blocking code: `with connect("amqp://localhost") as connection: ...`.

Each connection has a thread for its input and output (`io_thread`). A session, with its producers and consumers, may be
used from any thread, but only from one at a time.
"""

import ssl
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from heliograph.client.core.consumer import ReceiverEnd
from heliograph.client.core.producer import WINDOW, ProducerCore, SendOptions
from heliograph.client.core.sender import Run
from heliograph.client.core.session import SessionCore
from heliograph.client.core.settings import Acknowledge, Servers, settings_of
from heliograph.client.destination import Destination, Queue, TemporaryQueue, TemporaryTopic, destination_of
from heliograph.client.errors import MessagingProblem
from heliograph.client.io_thread import CallbackThread, IoThread, ThreadNetwork
from heliograph.client.message import Message
from heliograph.client.network import LOG, run_callback, tls_context
from heliograph.client.pending import Pending, resolved, start

T = TypeVar("T")
Listener = Callable[[Message], object]


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
) -> "Connection":
    """Connect to the first server that accepts us.

    `servers` is a URL or several: `amqp://user:password@host:port/?option=value`, or `amqps://` for TLS. Options in a
    URL are `client_id`, `prefetch`, `timeout`, `idle_timeout`, `reconnect` and `hostname` (what to ask the server for,
    if not its own name: a queue manager, for example).

    `client_id` is who this is, for durable subscriptions. `prefetch` is how many messages a consumer keeps ready.
    `timeout` is how many seconds a server has for an answer; a connection that is silent for `idle_timeout` seconds is
    taken for dead. With `reconnect`, a lost connection is made again, to any of the servers; `on_interrupted` is then
    called with the problem, and `on_restored` with the server's URL.

    For TLS: `ca` is a file with the certificates to trust, if not the system's; `cert` and `key` are our own;
    `verify=False` accepts any certificate; `tls` is a context of your own, in place of all these.
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
    io = IoThread(lambda: ThreadNetwork(known, settings, context, external=bool(tls or cert)))
    try:
        io.wait(io.core.open)
    except BaseException:
        io.stop()
        raise
    return Connection(io)


class _Closing:
    """What can be closed, and closes at the end of `with`."""

    def close(self) -> None:
        """End it."""
        raise AssertionError("everything that closes says how")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Connection(_Closing):
    """A connection to one of the servers, and to another when that one is lost."""

    def __init__(self, io: IoThread) -> None:
        self._io = io
        self._closed = False
        self._sessions: list[Session] = []

    def session(self, acknowledge: Acknowledge | str = Acknowledge.AUTO) -> "Session":
        """Open a session: "auto", "client", "dups-ok", "individual", "transacted" or "none", see `Acknowledge`."""
        mode = Acknowledge(acknowledge)
        session = Session(self._io, self._io.wait(lambda: self._io.core.session(mode)))
        self._sessions = [each for each in self._sessions if each.is_open] + [session]
        return session

    def close(self) -> None:
        """Wait for messages on their way, give back those fetched ahead, and close. Unfinished work is undone."""
        if not self._closed:
            self._closed = True
            for session in self._sessions:
                session.stop_listening()
            self._io.wait(self._io.core.close)
            self._io.stop()


class Session(_Closing):
    """Producers and consumers that share one way to acknowledge, or one unit of work."""

    def __init__(self, io: IoThread, core: SessionCore) -> None:
        self._io = io
        self._core = core
        self._listening = CallbackThread("heliograph-listeners")

    def producer(
        self,
        destination: Destination | str | None = None,
        *,
        presettled: bool = False,
        persistent: bool | None = True,
        priority: int | None = 4,
        ttl: float | None = None,
        delay: float = 0.0,
    ) -> "Producer":
        """Make a producer; without a destination, each message is sent with one.

        With `presettled`, the server does not answer, and messages may be lost without anybody knowing. Messages are
        `persistent` or not, have a `priority` of 0 to 9, live for `ttl` seconds (None: for ever), and are kept by the
        server for `delay` seconds before they are delivered. A `persistent` or `priority` of None leaves that to the
        queue, which may have defaults of its own.
        """
        destination = None if destination is None else destination_of(destination)
        core = ProducerCore(self._core, destination, SendOptions(persistent, priority, ttl, delay), presettled)
        self._io.wait(lambda: start(core.open()))
        return Producer(self._io, core)

    def consumer(
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
        """Make a consumer of a queue or topic.

        It gets only messages that the `selector` is true for; with `no_local`, none of this connection's own. A topic
        can have a named `subscription`: `durable` subscriptions gather messages while nobody is there, `shared` ones
        deal them out to all their consumers. `prefetch` is how many messages are kept ready; 0 asks for each.
        """
        destination = destination_of(destination)

        def make() -> Pending[ReceiverEnd]:
            core = self._core.consumer(
                destination,
                selector=selector,
                no_local=no_local,
                subscription=subscription,
                durable=durable,
                shared=shared,
                prefetch=prefetch,
            )
            return start(_added(self._core, core))

        return Consumer(self._io, self._io.wait(make), self._listening)

    def browser(self, queue: Queue | TemporaryQueue | str, *, selector: str = "") -> "Browser":
        """Look at the messages of a queue without taking them: `for message in browser`."""
        destination = destination_of(queue)

        def make() -> Pending[ReceiverEnd]:
            return start(_added(self._core, self._core.consumer(destination, selector=selector, browse=True)))

        return Browser(self._io, self._io.wait(make))

    def temporary_queue(self) -> TemporaryQueue:
        """Make a queue that lives as long as the connection."""
        return self._io.wait(lambda: start(self._io.core.temporary(TemporaryQueue)))

    def temporary_topic(self) -> TemporaryTopic:
        """Make a topic that lives as long as the connection."""
        return self._io.wait(lambda: start(self._io.core.temporary(TemporaryTopic)))

    def delete(self, temporary: TemporaryQueue | TemporaryTopic) -> None:
        """Delete a temporary queue or topic before its time."""
        self._io.wait(temporary.remover())

    def unsubscribe(self, name: str) -> None:
        """Delete a durable subscription that has no consumer."""
        self._io.wait(lambda: start(self._io.core.unsubscribe(name)))

    def request(self, destination: Destination | str, message: Any, timeout: float | None = None) -> Message:
        """Send a request and wait for its reply; `NoAnswer` when there is none in `timeout` seconds.

        Replies come to a temporary queue and are told apart by their correlation id, so requests of several threads
        may be under way at once.
        """
        self._core.check()
        return self._io.wait(lambda: start(self._core.requests.request(destination, message, timeout)))

    def flush(self) -> None:
        """Wait until what was sent without waiting is on its way."""
        self._io.wait(lambda: resolved(None))

    def commit(self) -> None:
        """Make permanent what was sent and received since the last commit; `TransactionRolledBack` if it cannot be."""
        self._io.wait(lambda: start(self._core.commit()))

    @property
    def is_lost(self) -> bool:
        """Whether the unit of work was lost with its connection, so that it can only be rolled back."""
        return self._core.transaction is not None and self._core.transaction.rollback_only

    def rollback(self, *, blame: bool = True) -> None:
        """Undo what was sent and received since the last commit.

        What was received counts as a failed delivery, unless the messages are not to `blame`.
        """
        self._io.wait(lambda: start(self._core.roll_back(blame=blame)))

    def recover(self) -> None:
        """Have all messages again that were received and not acknowledged."""
        self._io.wait(lambda: start(self._core.recover()))

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""
        return not self._core.closed

    def stop_listening(self) -> None:
        """Call no listener any more, once those that are at work have returned."""
        self._listening.stop()

    def close(self) -> None:
        """Close it with its producers and consumers. Unfinished work is undone."""
        self.stop_listening()
        self._io.wait(lambda: start(self._core.close()))


async def _added(session: SessionCore, core: ReceiverEnd) -> ReceiverEnd:
    await session.add(core)
    return core


class Receipt:
    """The fate of a message that was sent without waiting."""

    __slots__ = ("_io", "_pending")

    def __init__(self, io: IoThread, pending: Pending[Any]) -> None:
        self._io = io
        self._pending = pending

    def done(self) -> bool:
        """Whether the server has answered."""
        return self._pending.done

    def result(self, timeout: float | None = None) -> None:
        """Wait until the server has accepted the message; raises what went wrong if it has not."""
        if not self._pending.done:
            self._io.wait(lambda: self._pending, timeout)
        self._pending.result()

    def add_done_callback(self, callback: Callable[["Receipt"], object]) -> None:
        """Call back with this when the server has answered. The call comes from the thread that does the input and
        output: it must be quick, and must not call methods that wait."""
        self._io.post(self._pending.when_done, lambda _: run_callback(callback, self))


class RunReceipt:
    """The fate of messages that were sent together."""

    __slots__ = ("_io", "_run")

    def __init__(self, io: IoThread, run: Pending[Run]) -> None:
        self._io = io
        self._run = run

    def refused(self, timeout: float | None = None) -> dict[int, BaseException]:
        """Wait until the server has answered for all; the problems of those it did not take, by index in the run."""

        async def answered() -> Run:
            run = await self._run
            await run.done
            return run

        return self._io.wait(lambda: start(answered()), timeout).refused


class Producer(_Closing):
    """Sends messages."""

    def __init__(self, io: IoThread, core: ProducerCore) -> None:
        self._io = io
        self._core = core

    def send(self, message: Any, to: Destination | str | None = None, **options: Any) -> None:
        """Send a `Message` (or just a body) and wait until the server has accepted it.

        `persistent`, `priority`, `ttl` and `delay` hold for this message. A transacted session does not
        wait: failures are reported by the commit.
        """
        if self._core.session.transaction is not None:
            self.send_async(message, to, **options)
            return
        core = self._core
        destination, sending = core.prepare(message, to, core.options_with(options))

        def submit() -> Pending[Any]:
            core.submit(destination, sending)
            return sending.done

        self._io.wait(submit)

    def send_async(self, message: Any, to: Destination | str | None = None, **options: Any) -> Receipt:
        """Send without waiting for the answer; the receipt has it. Waits only while too much is on its way."""
        core = self._core
        destination, sending = core.prepare(message, to, core.options_with(options))
        self._io.post(core.submit, destination, sending)
        if core.on_the_way >= WINDOW:
            self._io.wait(core.room)
        return Receipt(self._io, sending.done)

    def send_encoded(self, payloads: Sequence[bytes], to: Destination | str | None = None) -> "RunReceipt":
        """Send messages that `client.encoded` has made to one destination, without waiting for the answer.

        This is for programs that move many messages: nothing is set, and the run has one receipt.
        """
        core = self._core
        destination = core.destination_for(to)
        return RunReceipt(self._io, self._io.call(lambda: core.submit_run(destination, payloads)))

    def close(self) -> None:
        """Wait for messages on their way, and end it."""
        self._io.wait(lambda: start(self._core.close()))


class _Fetching(_Closing):
    """Base of consumers and browsers."""

    def __init__(self, io: IoThread, core: ReceiverEnd) -> None:
        self._io = io
        self._core = core
        self._nudged = False

    def _nudge(self) -> None:
        """Tell the core that messages were taken, so that it renews credit and settles them."""
        if not self._nudged:
            self._nudged = True
            self._io.post(self._touch)

    def _touch(self) -> None:
        self._nudged = False
        self._core.connection.touch(self._core)

    def __iter__(self) -> Self:
        return self

    def close(self) -> None:
        """End it. What it fetched ahead goes back; a durable subscription stays."""
        self._io.wait(lambda: start(self._core.close()))


class Consumer(_Fetching):
    """Receives messages: `for message in consumer`, `receive`, or a listener."""

    def __init__(self, io: IoThread, core: ReceiverEnd, listening: CallbackThread) -> None:
        super().__init__(io, core)
        self._listening = listening
        self._listener: Listener | None = None

    def receive(self, timeout: float | None = None) -> Message | None:
        """Wait for a message, for ever or `timeout` seconds; None if the server has none then."""
        core = self._core
        message = core.next()
        if message is None:
            message = self._wait(timeout, core.next)
        if message is not None:
            self._nudge()
        return message

    def receive_encoded(self, most: int, timeout: float | None = None) -> list[bytes]:
        """Wait for messages as `receive` does, and take all that have arrived, but not more than `most`.

        These are their bytes, which `client.encoded` can read. One that expired after it was fetched is among them. In
        a session that settles later, the server knows that the program has them when this returns.
        """
        core = self._core
        payloads = core.next_run(most) or self._wait(timeout, lambda: core.next_run(most)) or []
        if payloads and core.session.reports_received:
            self._io.wait(self._tell)
        elif payloads:
            self._nudge()
        return payloads

    def _tell(self) -> Pending[None]:
        self._core.pump()
        self._io.write()
        return resolved(None)

    def _wait(self, timeout: float | None, take: Callable[[], T | None]) -> T | None:
        """What `take` finds when something has arrived; None if nothing has."""
        core = self._core
        deadline = None if timeout is None else time.monotonic() + timeout
        while not (taken := take()):
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not self._io.wait(lambda left=left: core.arrival(left)) and left is not None:  # type: ignore[misc]
                return None
        return taken

    def receive_nowait(self) -> Message | None:
        """A message if the server has one, else None."""
        return self.receive(0)

    def listen(self, listener: Listener) -> None:
        """Have all messages from now on given to a function, one after the other, in a thread of the session's own.

        All listeners of a session take turns. A message that makes it raise counts as failed and comes again.
        """
        self._listener = listener

        def begin() -> Pending[None]:
            self._core.on_ready = self._ready
            self._ready()
            return resolved(None)

        self._io.wait(begin)

    def _ready(self) -> None:
        self._listening.put(self._listen)

    def _listen(self) -> None:
        listener = self._listener
        assert listener is not None
        while (item := self._core.next_for_listener()) is not None:
            message, through = item
            try:
                listener(message)
            except Exception:
                LOG.exception(
                    "a listener of %s raised; the message counts as failed", self._core.subscription.destination
                )
                through(False)
            else:
                through(True)
            self._nudge()

    def __next__(self) -> Message:
        message = None if self._core.closed and self._core.problem is None else self.receive()
        if message is None:
            raise StopIteration
        return message


class Browser(_Fetching):
    """The messages of a queue as they are now."""

    def __next__(self) -> Message:
        core = self._core
        while (message := core.next()) is None:
            if not self._io.wait(lambda: core.arrival(0)):
                raise StopIteration
        self._nudge()
        return message
