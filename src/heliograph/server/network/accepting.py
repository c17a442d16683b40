"""Listening sockets, accepting connections on them, and how many connections there are file descriptors for.

Asyncio's own servers are not used for two reasons: when file descriptors run out, they log a traceback for every
connection that they cannot accept; and they make a transport for each connection. `Acceptor` logs one warning, stops
listening for `_PAUSE_WHEN_OUT_OF_FILES` seconds, and hands on bare descriptors.
"""

import asyncio
import errno
import logging
import os
import resource
import socket
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol

from heliograph.common.network_errors import network_error_text
from heliograph.server.errors import CannotListen
from heliograph.server.hosts import bind_host
from heliograph.server.logs import RepeatedWarnings

_FOR_ONE_PAGE = 3
"""Descriptors that an answer may take: its connection, a copy of it, and a file of a stream."""
_PART_FOR_PAGES = 8
"""The part of all descriptors that the pages can have."""
_OWN = 64
"""Descriptors of the server's own: the log, listening sockets, the event loop."""


def _all() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def most_clients() -> int:
    """Clients that there are descriptors for, with those aside that are for the pages and the server itself."""
    there = _all()
    return there - min(_OWN, there // 2) - there // _PART_FOR_PAGES


def most_pages(wanted: int) -> int:
    """Connections to the pages that there are descriptors for, of those that are wanted."""
    return max(1, min(wanted, _all() // _PART_FOR_PAGES // _FOR_ONE_PAGE))


log = logging.getLogger(__name__)
warnings = RepeatedWarnings(log)

BACKLOG = 4096
# A flood of new clients must not keep those that are there waiting.
_ACCEPTED_AT_ONCE = 64
# With no file descriptor left, accepting again at once would only fail again.
_PAUSE_WHEN_OUT_OF_FILES = 0.5


Take = Callable[[int, Any], None]
"""Takes over an accepted connection: its file descriptor, which does not block, and the address of the other end."""


class Readers(Protocol):
    """Calls back when a file can be read: an event loop, or the reactor of clients."""

    def add_reader(self, fd: int, callback: Callable[[], None], /) -> None:
        """Call this whenever the file can be read."""

    def remove_reader(self, fd: int, /) -> object:
        """Stop calling back for this file."""


class ListeningSocket(socket.socket):
    """A socket that accepts connections as file descriptors."""

    @property
    def accept_descriptor(self) -> Callable[[], tuple[int, Any]]:
        """Accepts a connection: its file descriptor, and the address of the other end.

        `accept` makes an object around the descriptor, which costs half as much again as the system call, and asks the
        kernel for an address that nobody wants.
        """
        accept: Callable[[], tuple[int, Any]] = self._accept  # type: ignore[attr-defined]
        return accept


class Acceptor:
    """Accepts connections on one listening socket, which it owns, and hands them to `take`."""

    def __init__(
        self, listening: ListeningSocket, name: str, take: Take, readers: Readers, most: int = _ACCEPTED_AT_ONCE
    ) -> None:
        """Start right away; `name` is for the log, `most` are accepted before others have their turn."""
        self._most = most
        self.socket = listening
        self._name = name
        self._take = take
        self._readers = readers
        self._accept_one = listening.accept_descriptor
        readers.add_reader(listening.fileno(), self._accept)

    def _accept(self) -> None:
        for _ in range(self._most):
            try:
                fd, address = self._accept_one()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._pause(error)
                return
            os.set_blocking(fd, False)
            self._take(fd, address)

    def _pause(self, error: OSError) -> None:
        warnings.warning("accept", "cannot accept connections", listener=self._name, error=error.strerror)
        self._readers.remove_reader(self.socket.fileno())

        def again() -> None:
            if self.socket.fileno() >= 0:
                self._readers.add_reader(self.socket.fileno(), self._accept)

        asyncio.get_running_loop().call_later(_PAUSE_WHEN_OUT_OF_FILES, again)

    def close(self) -> None:
        """Accept no more."""
        self._readers.remove_reader(self.socket.fileno())
        self.socket.close()


# The key to change in the configuration, by the error of a socket that cannot listen.
_KEY = {errno.EADDRINUSE: "port", errno.EACCES: "port", errno.EADDRNOTAVAIL: "host"}


def cannot_listen(what: str, table: str, address: str, error: OSError) -> CannotListen:
    """Why a socket cannot be had, and which key of which table of the configuration would help."""
    key = "path" if "/" in address else _KEY.get(error.errno or 0, "host")
    return CannotListen(
        f"{what}: cannot listen: {network_error_text(error, address)}; set {key} in {table} to another one"
    )


async def tcp_sockets(host: str, port: int) -> list[ListeningSocket]:
    """Listen on all addresses of a host as the configuration names it; with port 0, all get the same free one."""
    found = await asyncio.get_running_loop().getaddrinfo(
        bind_host(host), port, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[ListeningSocket] = []
    try:
        for family, _, _, _, address in dict.fromkeys(found):
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


def _tcp_socket(family: int, address: tuple[object, ...]) -> ListeningSocket:
    options = [(socket.SOL_SOCKET, socket.SO_REUSEADDR), (socket.IPPROTO_TCP, socket.TCP_NODELAY)]  # accepted inherit
    if family == socket.AF_INET6:
        options.append((socket.IPPROTO_IPV6, socket.IPV6_V6ONLY))
    return _listening(ListeningSocket(family, socket.SOCK_STREAM), address, options)


def _listening(
    sock: ListeningSocket, address: tuple[object, ...] | str, options: Iterable[tuple[int, int]] = ()
) -> ListeningSocket:
    try:
        for level, option in options:
            sock.setsockopt(level, option, 1)
        sock.bind(address)
        sock.listen(BACKLOG)
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock


def unix_socket(path: str) -> ListeningSocket:
    """Listen on a socket file; one that a dead server has left behind is replaced."""
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.stat(path).st_mode):
            with socket.socket(socket.AF_UNIX) as probe:
                try:
                    probe.connect(path)
                except ConnectionRefusedError:
                    os.unlink(path)
    return _listening(ListeningSocket(socket.AF_UNIX), path)
