"""The core's driver on asyncio: sockets, TLS and timers. Both faces use it; one of them from another thread."""

import asyncio
import inspect
import logging
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final

from heliograph.client.core.connection import ConnectionCore
from heliograph.client.core.settings import Server, Servers, Settings
from heliograph.client.core.wire import Timer
from heliograph.common.network_errors import certificate_file_error, network_error_text
from heliograph.errors import InvalidInput

LOG: Final = logging.getLogger("heliograph.client")
_CLOSE_TIMEOUT: Final = 2.0


def tls_context(
    given: ssl.SSLContext | None, ca: str | Path | None, cert: str | Path | None, key: str | Path | None, verify: bool
) -> ssl.SSLContext:
    """How amqps:// servers are checked, and how they may check us."""
    if given is not None:
        return given
    try:
        context = ssl.create_default_context(cafile=ca)
        if cert is not None:
            context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise InvalidInput(
            f"cannot use the certificate files {ca or ''} {cert or ''} {key or ''}: {certificate_file_error(error)}"
        ) from error
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def run_callback(callback: Callable[..., object], *what: object) -> None:
    """Call the application; what it raises is its own affair, and must not stop the core."""
    try:
        callback(*what)
    except Exception:
        LOG.exception("a callback of the application raised")


class _Wire(asyncio.Protocol):
    """One network connection."""

    def __init__(self, network: "Network") -> None:
        self._network = network

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._network.made(self, transport)

    def data_received(self, data: bytes) -> None:
        self._network.came(self, data)

    def connection_lost(self, error: Exception | None) -> None:
        self._network.went(self, error)


class Network:
    """Drives a `ConnectionCore` in the event loop that it was made in."""

    def __init__(self, servers: Servers, settings: Settings, tls: ssl.SSLContext, *, external: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self._tls = tls
        self._attempt: asyncio.Task[None] | None = None
        self._wire: _Wire | None = None
        self._transport: asyncio.WriteTransport | None = None
        self._closing: dict[_Wire, asyncio.Future[None]] = {}
        self._woken = False
        self._telling: set[asyncio.Future[object]] = set()
        self.core = ConnectionCore(servers, settings, self, external=external)

    # What the core asks for.

    def now(self) -> float:
        return self._loop.time()

    def later(self, delay: float, call: Callable[[], None]) -> Timer:
        return self._loop.call_later(delay, call)

    def dial(self, server: Server) -> None:
        self._attempt = self._loop.create_task(self._connect(server))

    async def _connect(self, server: Server) -> None:
        try:
            await self._loop.create_connection(
                lambda: _Wire(self), server.host, server.port, ssl=self._tls if server.tls else None
            )
        except (OSError, ssl.SSLError) as error:
            address = str(server).partition("://")[2]
            self.core.disconnected(f"cannot connect: {network_error_text(error, address)}")

    def hang_up(self) -> None:
        if self._attempt is not None:
            self._attempt.cancel()
            self._attempt = None
        wire, self._wire = self._wire, None
        transport, self._transport = self._transport, None
        if wire is not None and transport is not None:
            transport.writelines(self.core.flush())
            transport.close()
            self._closing[wire] = self._loop.create_future()

    def wake(self) -> None:
        if not self._woken:
            self._woken = True
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write what the core has to write."""
        self._woken = False
        output = self.core.flush()
        if output and self._transport is not None:
            self._transport.writelines(output)

    def submit(self, call: Callable[[], object]) -> None:
        call()

    def tell(self, hook: Callable[..., object], *what: object) -> None:
        self._loop.call_soon(self._run_hook, hook, *what)

    def _run_hook(self, hook: Callable[..., object], *what: object) -> None:
        answer = hook(*what)
        if inspect.isawaitable(answer):
            running = asyncio.ensure_future(answer)
            self._telling.add(running)
            running.add_done_callback(self._telling.discard)

    async def quiet(self) -> None:
        """Wait, but not for long, until closed connections have written their last bytes (the close of TLS, say)."""
        if self._closing:
            await asyncio.wait(self._closing.values(), timeout=_CLOSE_TIMEOUT)

    # What the network brings.

    def made(self, wire: _Wire, transport: asyncio.WriteTransport) -> None:
        """The network connection is made."""
        self._wire, self._transport = wire, transport
        self.core.connected()

    def came(self, wire: _Wire, data: bytes) -> None:
        """Bytes were received."""
        if wire is self._wire:
            self.core.received(data)

    def went(self, wire: _Wire, error: Exception | None) -> None:
        """The network connection is lost or closed."""
        closed = self._closing.pop(wire, None)
        if closed is not None and not closed.done():
            closed.set_result(None)
        if wire is self._wire:
            self._wire = self._transport = None
            self.core.disconnected(
                "the connection broke"
                if error is None
                else f"the connection broke: {network_error_text(error, 'the server')}"
            )
