"""The bytes of one connection: a blocking dialogue first, then non-blocking reads and writes through a selector."""

import selectors
import socket
import ssl
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from heliograph.network_errors import sentence

HOST = "127.0.0.1"
PATIENCE = 10.0  # seconds that a broker may take to answer a handshake

# One buffer for all connections: they are read one at a time, and what is not used up is copied out by the reader.
# Small enough to stay in a core's cache, which is what makes receiving cheap.
BUFFER = bytearray(256 * 1024)
_VIEW = memoryview(BUFFER)


class BrokerGone(Exception):
    """The broker closed a connection, refused it or did not answer in time."""


@dataclass(frozen=True)
class Address:
    """Where a broker listens: always on this machine, with TLS when there is a context for it."""

    port: int
    tls: ssl.SSLContext | None = None


# Linux looks for a free port the longer, the more ports of one address are taken; all of 127.0.0.0/8 is this machine.
_PER_ADDRESS = 4000
_BIND_ADDRESS_NO_PORT = 24  # the port is chosen when the other end is known, as it is without binding
_dialled = count()


def _dial(address: Address) -> socket.socket:
    plain = socket.socket()
    try:
        plain.settimeout(PATIENCE)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if sys.platform == "linux":
            plain.setsockopt(socket.IPPROTO_IP, _BIND_ADDRESS_NO_PORT, 1)
            plain.bind((f"127.0.0.{1 + next(_dialled) // _PER_ADDRESS % 250}", 0))
        plain.connect((HOST, address.port))
        return plain if address.tls is None else address.tls.wrap_socket(plain, server_hostname=HOST)
    except OSError as error:
        plain.close()
        raise BrokerGone(
            f"cannot connect to port {address.port}: {sentence(error, f'{HOST}:{address.port}')}"
        ) from None


class ByteStream:
    """A connected client as far as bytes go; subclasses know what the bytes mean."""

    def __init__(self, address: Address) -> None:
        self.socket = _dial(address)
        self._handle: Callable[[], None] = lambda: None
        self._selector: selectors.BaseSelector
        self._backlog: deque[memoryview] = deque()
        self._tls = address.tls is not None
        self._waiting = False  # for the socket to take more

    def _exactly(self, size: int) -> bytes:
        """The next bytes, while the connection is still a blocking one."""
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise BrokerGone("the broker closed the connection during the handshake")
            data += more
        return data

    def attach(self, selector: selectors.BaseSelector, handle: Callable[[], None]) -> None:
        """From now on call `handle` whenever there is something to read."""
        self.socket.setblocking(False)
        self._handle = handle
        self._selector = selector
        selector.register(self.socket, selectors.EVENT_READ, self)

    def ready(self, events: int) -> None:
        """The selector has seen these events."""
        if events & selectors.EVENT_WRITE:
            self._flush()
        if events & selectors.EVENT_READ:
            self._handle()

    def receive(self, kept: bytes = b"") -> memoryview:
        """What has arrived, behind `kept`, in the shared buffer: valid until the next call on any link.

        Nothing but `kept` means that there was nothing to read.
        """
        start = end = len(kept)
        BUFFER[:start] = kept
        try:
            while size := self.socket.recv_into(_VIEW[end:]):
                end += size
                # TLS hands out one record at a time, and a broker may make a record of every message.
                if not self._tls or end == len(BUFFER):
                    return _VIEW[:end]
        except (BlockingIOError, ssl.SSLWantReadError):
            return _VIEW[:end]
        except OSError as error:
            raise BrokerGone(sentence(error, "the broker")) from None
        raise BrokerGone("the broker closed the connection")

    @property
    def blocked(self) -> bool:
        """Whether earlier writes still wait for the socket."""
        return self._waiting

    def write(self, data: bytes | memoryview) -> None:
        """Send, in order, now or when the socket takes it; the data must not change afterwards."""
        if not self._waiting:
            sent = self._send(data)
            if sent == len(data):
                return
            data = memoryview(data)[sent:]
        self._backlog.append(memoryview(data))
        self._wait(True)

    def _send(self, data: bytes | memoryview) -> int:
        try:
            return self.socket.send(data)
        except (BlockingIOError, ssl.SSLWantWriteError):
            return 0
        except OSError as error:
            raise BrokerGone(sentence(error, "the broker")) from None

    def _flush(self) -> None:
        backlog = self._backlog
        while backlog:
            sent = self._send(backlog[0])
            if sent < len(backlog[0]):
                backlog[0] = backlog[0][sent:]
                return
            backlog.popleft()
        self._wait(False)

    def _wait(self, waiting: bool) -> None:
        if self._waiting != waiting:
            self._waiting = waiting
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if waiting else 0)
            self._selector.modify(self.socket, events, self)

    def close(self) -> None:
        """Reset rather than close: ten thousand sockets in TIME_WAIT would starve the next run of ports."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        self.socket.close()
