"""Listeners: where clients connect."""

import asyncio
import errno
import logging
import os
import socket
import stat
from contextlib import suppress

from heliograph.errors import Problem
from heliograph.server import certificates
from heliograph.server.addresses import bind_host
from heliograph.server.config_tables import ListenerConfig, ListenerKind
from heliograph.server.gate import CertificateGate, Credentials, ListenerGate
from heliograph.server.logs import RepeatedWarnings
from heliograph.server.sockets import Reactor
from heliograph.server.transports import TransportClient
from heliograph.server.websocket import WebSocketClient
from heliograph.server.writing import Writer

log = logging.getLogger(__name__)
warnings = RepeatedWarnings(log)

BACKLOG = 4096
# Clients past the limit are told so in CONNACK; when that many wait to be told, the next ones are just closed.
_REFUSED_AT_ONCE = 256
# With no file descriptor left, accepting again at once would only fail again.
_PAUSE_WHEN_OUT_OF_FILES = 0.5


class Listener:
    """One configured listener: its sockets, its rules, its certificate."""

    def __init__(
        self, config: ListenerConfig, writer: Writer, credentials: Credentials, reactor: Reactor | None
    ) -> None:
        self.config = config
        self._writer = writer
        self._reactor = reactor
        self._gate = ListenerGate(config, credentials)
        self._context = certificates.tls_context(config) if config.encrypted else None
        self._sockets: list[socket.socket] = []
        self._servers: list[asyncio.Server] = []

    async def start(self) -> None:
        """Listen; a Problem tells what is in the way."""
        try:
            self._sockets = await self._bind()
        except OSError as error:
            raise Problem(f"{self.config.name}: cannot listen: {error.strerror or error}") from None
        if self._direct:
            loop = asyncio.get_running_loop()
            for sock in self._sockets:
                loop.add_reader(sock, self._accept, sock)
        else:
            await self._start_server()

    @property
    def _direct(self) -> bool:
        return self._reactor is not None and self.config.kind in {ListenerKind.TCP, ListenerKind.UNIX}

    async def _bind(self) -> list[socket.socket]:
        if self.config.kind is ListenerKind.UNIX:
            return [_unix_socket(self.config.path)]
        loop = asyncio.get_running_loop()
        host, port = bind_host(self.config.host), self.config.port
        found = await loop.getaddrinfo(
            host, port, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        sockets: list[socket.socket] = []
        try:
            for family, _, _, _, address in dict.fromkeys(found):
                # With port 0, all families get the port that the first one got.
                chosen = (address[0], sockets[0].getsockname()[1], *address[2:]) if sockets and not port else address
                try:
                    sockets.append(_tcp_socket(family, chosen))
                except OSError as error:
                    if error.errno != errno.EAFNOSUPPORT:  # a machine without IPv6 still has its IPv4 address
                        raise
        except BaseException:
            for sock in sockets:
                sock.close()
            raise
        return sockets

    async def _start_server(self) -> None:
        loop = asyncio.get_running_loop()
        self._servers = [
            await loop.create_server(self._new_client, sock=sock, ssl=self._context, backlog=BACKLOG)
            if sock.family != getattr(socket, "AF_UNIX", None)
            else await loop.create_unix_server(self._new_client, sock=sock, backlog=BACKLOG)
            for sock in self._sockets
        ]

    def _new_client(self) -> asyncio.Protocol:
        if self._overrun():
            return _ClosedAtOnce()
        if self.config.kind in {ListenerKind.WS, ListenerKind.WSS}:
            return WebSocketClient(self._writer, self._gate_for, self.config.path)
        return TransportClient(self._writer, self._gate_for)

    def _gate_for(self, transport: asyncio.BaseTransport) -> ListenerGate | CertificateGate:
        certificate = transport.get_extra_info("peercert")
        if certificate and self._gate.listener.certificate_user:
            user = certificates.common_name(certificate)
            if user is not None:
                return CertificateGate(user)
        return self._gate

    def _accept(self, listening: socket.socket) -> None:
        assert self._reactor is not None
        for _ in range(BACKLOG):
            try:
                sock, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._accept_failed(listening, error)
                return
            if self._overrun():
                sock.close()
                continue
            self._reactor.add(sock, self._gate)

    def _overrun(self) -> bool:
        """Whether there are so many connections that a new one is not even told so."""
        limit = self._writer.broker.limits.connections
        if len(self._writer.outlets) < limit + _REFUSED_AT_ONCE:
            return False
        warnings.warning("connections", "too many connections; closed at once", limit=limit)
        return True

    def _accept_failed(self, listening: socket.socket, error: OSError) -> None:
        warnings.warning("accept", "cannot accept connections", listener=self.config.name, error=str(error))
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening)

        def again() -> None:
            if listening.fileno() >= 0:
                loop.add_reader(listening, self._accept, listening)

        loop.call_later(_PAUSE_WHEN_OUT_OF_FILES, again)

    def reload(self, config: ListenerConfig) -> None:
        """Use new rules, and the certificate as it is now; a Problem leaves the old ones in force."""
        if self._context is not None:
            certificates.reload(self._context, config)
        self.config = config
        self._gate.listener = config

    @property
    def addresses(self) -> list[str]:
        """Addresses as URLs, one for each socket."""
        scheme = {"tcp": "mqtt", "tls": "mqtts", "ws": "ws", "wss": "wss", "unix": "unix"}[self.config.kind]
        if self.config.kind is ListenerKind.UNIX:
            return [f"unix:{self.config.path}"]
        tail = self.config.path if self.config.kind in {ListenerKind.WS, ListenerKind.WSS} else ""
        found = []
        for sock in self._sockets:
            host, port = sock.getsockname()[:2]
            found.append(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{tail}")
        return found

    @property
    def port(self) -> int:
        """The port in use, also where the configuration leaves it open."""
        return int(self._sockets[0].getsockname()[1])

    def close(self) -> None:
        """Accept no more."""
        if self._direct:
            loop = asyncio.get_running_loop()
            for sock in self._sockets:
                loop.remove_reader(sock)
                sock.close()
        else:
            for server in self._servers:
                server.close()
        if self.config.kind is ListenerKind.UNIX:
            with suppress(OSError):
                os.unlink(self.config.path)


class _ClosedAtOnce(asyncio.Protocol):
    """What becomes of a connection that there is no room for."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.abort()


def _tcp_socket(family: int, address: tuple[object, ...]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # accepted sockets inherit it
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(address)
        sock.listen(BACKLOG)
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock


def _unix_socket(path: str) -> socket.socket:
    # A server that was killed leaves its socket file behind; one that still lives answers.
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.stat(path).st_mode):
            with socket.socket(socket.AF_UNIX) as probe:
                try:
                    probe.connect(path)
                except ConnectionRefusedError:
                    os.unlink(path)
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.bind(path)
        sock.listen(BACKLOG)
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock
