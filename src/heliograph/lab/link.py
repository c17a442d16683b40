"""One client connection: a blocking handshake, then non-blocking bytes in and out through a selector."""

import selectors
import socket
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from heliograph.lab import wire

HOST = "127.0.0.1"
PATIENCE = 10.0  # seconds that a broker may take to answer a handshake

# One buffer for all links: they are read one at a time, and what is not used up is copied out by the reader.
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


def _dial(address: Address) -> socket.socket:
    try:
        plain = socket.create_connection((HOST, address.port), timeout=PATIENCE)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return plain if address.tls is None else address.tls.wrap_socket(plain, server_hostname=HOST)
    except OSError as error:
        raise BrokerGone(f"cannot connect to port {address.port}: {error}") from None


class Link:
    """A connected MQTT client as far as bytes go."""

    def __init__(self, address: Address, client: str, version: int = wire.V3, *, durable: bool = False) -> None:
        """Connect and send CONNECT; `finish` waits for the answer, so that many links can be opened side by side."""
        self.version = version
        self.socket = _dial(address)
        self._say(wire.connect(client, version, durable=durable))
        self._handle: Callable[[], None] = lambda: None
        self._selector: selectors.BaseSelector
        self._backlog: deque[memoryview] = deque()
        self._tls = address.tls is not None
        self._waiting = False  # for the socket to take more

    def finish(self) -> None:
        """Wait for CONNACK."""
        self._expect(wire.CONNACK)

    def subscribe(self, topic_filter: str, qos: int) -> None:
        """Subscribe and wait until the broker has granted exactly this."""
        self._say(wire.subscribe(topic_filter, qos, self.version))
        granted = self._expect(wire.SUBACK)[-1]
        if granted != qos:
            raise BrokerGone(f"asked for QoS {qos} on {topic_filter}, the broker granted {granted:#x}")

    def _say(self, packet: bytes) -> None:
        try:
            self.socket.sendall(packet)
        except OSError as error:
            raise BrokerGone(f"sending packet {packet[0]:#x} failed: {error}") from None

    def _expect(self, first: int) -> bytes:
        try:
            head = self._exactly(2)
            body = self._exactly(head[1])
        except OSError as error:
            raise BrokerGone(f"waiting for packet {first:#x} failed: {error}") from None
        if head[0] != first or (first == wire.CONNACK and body[1] != 0):
            raise BrokerGone(f"expected packet {first:#x}, the broker sent {(head + body).hex(' ')}")
        return body

    def _exactly(self, size: int) -> bytes:
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
            raise BrokerGone(str(error)) from None
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
            raise BrokerGone(str(error)) from None

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

    def leave(self) -> None:
        """Say goodbye and wait until the broker has closed the connection: from then on this client is away.

        What the broker sent meanwhile is thrown away unacknowledged; a durable session gets it again.
        """
        self.socket.setblocking(True)
        self.socket.settimeout(PATIENCE)
        self._say(wire.DISCONNECT)
        try:
            while self.socket.recv_into(BUFFER):
                pass
        except ConnectionError:
            pass  # gone, too
        except OSError as error:
            raise BrokerGone(f"waiting for the end of a connection failed: {error}") from None
        self.close()

    def close(self) -> None:
        """Reset rather than close: ten thousand sockets in TIME_WAIT would starve the next run of ports."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        self.socket.close()
