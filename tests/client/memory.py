"""Drives the client's core without a network: brokers are objects, and time passes when a test says so."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any, TypeVar

from client.small_broker import Broker, Peer
from heliograph.client.core.connection import ConnectionCore
from heliograph.client.core.settings import Server, Servers, Settings
from heliograph.client.pending import Pending, start

T = TypeVar("T")


class _Timer:
    def __init__(self, call: Callable[[], None]) -> None:
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None


class Memory:
    """A driver, and the world around it. Brokers are known by host name; what is not there refuses connections."""

    def __init__(self, urls: str | list[str] = "amqp://here", **settings: Any) -> None:
        self.brokers: dict[str, Broker] = {"here": Broker()}
        self.dialled: list[str] = []
        self.told: list[tuple[Any, ...]] = []
        self.writes = 0
        self._time = 0.0
        self._timers: list[tuple[float, int, _Timer]] = []
        self._order = count()
        self._peer: Peer | None = None
        self._dialling: Server | None = None
        known, options = Servers.of(urls)
        assert not options
        self.core = ConnectionCore(known, Settings(**settings), self)

    @property
    def broker(self) -> Broker:
        return self.brokers["here"]

    # The driver.

    def now(self) -> float:
        return self._time

    def later(self, delay: float, call: Callable[[], None]) -> _Timer:
        timer = _Timer(call)
        heappush(self._timers, (self._time + delay, next(self._order), timer))
        return timer

    def dial(self, server: Server) -> None:
        self.dialled.append(server.host)
        self._dialling = server

    def hang_up(self) -> None:
        self._dialling = None
        peer, self._peer = self._peer, None
        if peer is not None:
            peer.receive(b"".join(self.core.flush()))
            peer.lose()

    def wake(self) -> None:
        pass

    def submit(self, call: Callable[[], object]) -> None:
        call()

    def tell(self, hook: Callable[..., object], *what: object) -> None:
        hook(*what)

    # The world.

    def run(self) -> None:
        """Until nothing moves any more."""
        while self.turn():
            pass

    def turn(self) -> bool:
        """One step: a connection comes about, or both sides write once. Whether anything moved."""
        return self._connect() or self.exchange()

    def _connect(self) -> bool:
        server, self._dialling = self._dialling, None
        if server is None:
            return False
        broker = self.brokers.get(server.host)
        if broker is None:
            self.core.disconnected("cannot connect")
        else:
            self._peer = Peer(broker)
            self.core.connected()
        return True

    @property
    def is_connected(self) -> bool:
        """Whether there is a network connection that can be cut."""
        return self._peer is not None

    def exchange(self) -> bool:
        """Both sides write once."""
        data = b"".join(self.core.flush())
        peer = self._peer
        if peer is None:
            return False
        if data:
            self.writes += 1
            peer.receive(data)
        answer = peer.take()
        if answer:
            self.core.received(answer)
        return bool(data or answer)

    def cut(self, *, lose_output: bool = False) -> None:
        """The network connection breaks."""
        peer, self._peer = self._peer, None
        assert peer is not None
        if not lose_output:
            peer.receive(b"".join(self.core.flush()))
        peer.lose()
        self.core.disconnected("cut")

    def pass_time(self, seconds: float) -> None:
        """Let time go by, with everything that happens in it."""
        end = self._time + seconds
        self.run()
        while self._timers and self._timers[0][0] <= end:
            self._time, _, timer = heappop(self._timers)
            if timer.call is not None:
                timer.call()
            self.run()
        self._time = end

    def finish(self, pending: Pending[T]) -> T:
        """The result of something that needs no time, only messages to and fro."""
        self.run()
        assert pending.done, "still waiting"
        return pending.result()

    def do(self, steps: Any) -> Any:
        """The same for a coroutine of the core."""
        return self.finish(start(steps))

    def open(self) -> None:
        self.finish(self.core.open())
