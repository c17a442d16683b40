"""A socket that carries MQTT packets: TCP, TLS or Unix, never blocking longer than asked."""

import contextlib
import select
import socket
import ssl
import time
from collections import deque
from dataclasses import dataclass

from heliograph.errors import Problem
from heliograph.mqtt import Packet, ProtocolError, decode, encode, packet_bounds
from heliograph.network_errors import sentence

CONNECT_TIMEOUT = 10.0
_CLOSE_TIMEOUT = 2.0
_RECEIVE_SIZE = 256 * 1024
_LARGEST_PACKET = 5 + 268_435_455  # what the length of a packet can say


class Lost(Problem):
    """There is no connection, or none any more; another attempt may have more luck."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens: a host and port, or the path of a Unix socket; `tls` is None for plain text."""

    host: str = "localhost"
    port: int = 1883
    unix: str | None = None
    tls: ssl.SSLContext | None = None

    def __str__(self) -> str:
        return self.unix if self.unix is not None else f"{self.host}:{self.port}"


class Connection:
    """Sends and receives packets of one MQTT version. A connection that breaks raises Lost when it is used."""

    def __init__(self, address: Address, version: int) -> None:
        self._name = str(address)
        self._version = version
        self._socket = _open(address)
        self._socket.setblocking(False)
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self._open = True
        self.packets: deque[Packet] = deque()
        """What has arrived; whoever takes a packet removes it."""
        self.last_sent = time.monotonic()

    @property
    def unsent(self) -> int:
        """Bytes that wait for the network."""
        return len(self._outgoing)

    def send(self, packet: Packet) -> None:
        """Put a packet in line; `wait` sends it."""
        try:
            self._outgoing += encode(packet, self._version)
        except ValueError as error:  # a field too large for MQTT, or text that is not Unicode
            raise Problem(f"cannot send {type(packet).__name__.upper()}: {error}") from None
        self.last_sent = time.monotonic()

    def wait(self, timeout: float | None, also: int | None = None) -> bool:
        """Send and receive what can be, waiting for something to happen, but no longer than `timeout` (None: for ever).

        `also` is one more file descriptor to wait for; the answer says whether it can be read.
        """
        readers: list[int] = [self._socket.fileno()]
        if also is not None:
            readers.append(also)
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            timeout = 0  # these bytes have left the kernel already, so that select cannot see them
        writers = [self._socket.fileno()] if self._outgoing else []
        readable, writable, _ = select.select(readers, writers, [], timeout)
        # What the server has said comes first: it may be the reason why sending fails.
        if timeout == 0 or self._socket.fileno() in readable:
            self._receive()
        if writable:
            self._send_some()
        return also in readable

    def close(self) -> None:
        """Send what is still in line and close, in a way that does not cost the server any of it."""
        deadline = time.monotonic() + _CLOSE_TIMEOUT
        with contextlib.suppress(Problem, OSError, ValueError):
            while self._open and self._outgoing and time.monotonic() < deadline:
                self.wait(deadline - time.monotonic())
            # Closing a socket that has unread bytes resets the connection, and the server may lose what we sent.
            self._socket.shutdown(socket.SHUT_WR)
            self._socket.settimeout(_CLOSE_TIMEOUT)
            while self._open and self._socket.recv(_RECEIVE_SIZE) and time.monotonic() < deadline:
                pass
        self._open = False
        self._socket.close()

    def _send_some(self) -> None:
        try:
            sent = self._socket.send(self._outgoing)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError:
            self._outgoing.clear()  # the reading side is about to find out why
            return
        del self._outgoing[:sent]

    def _receive(self) -> None:
        try:
            chunk = self._socket.recv(_RECEIVE_SIZE)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError as error:
            self._open = False
            raise Lost(f"connection to {self._name} lost: {sentence(error, self._name)}") from None
        if not chunk:
            self._open = False
            raise Lost(f"connection to {self._name} lost: the server closed it")
        self._incoming += chunk
        try:
            self._cut_packets()
        except ProtocolError as error:
            raise Problem(f"{self._name} sent bytes that are not MQTT: {error}") from None

    def _cut_packets(self) -> None:
        buf = self._incoming
        pos = 0
        while (bounds := packet_bounds(buf, pos, _LARGEST_PACKET, self._version)) is not None:
            start, end = bounds
            if end > len(buf):
                break
            self.packets.append(decode(buf[pos], bytes(buf[start:end]), self._version))
            pos = end
        del buf[:pos]


def _open(address: Address) -> socket.socket:
    try:
        if address.unix is not None:
            plain = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            plain.settimeout(CONNECT_TIMEOUT)
            plain.connect(address.unix)
        else:
            plain = socket.create_connection((address.host, address.port), CONNECT_TIMEOUT)
            # Acknowledgements and single messages are small; waiting to fill a segment would delay each of them.
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        raise Lost(f"cannot connect to {address}: {sentence(error, str(address))}") from None
    if address.tls is None:
        return plain
    try:
        return address.tls.wrap_socket(plain, server_hostname=address.host)
    except OSError as error:
        plain.close()
        # A server that is about to stop may cut a handshake short; anything else TLS does not like stays as it is.
        cut_short = not isinstance(error, ssl.SSLError) or isinstance(error, ssl.SSLEOFError)
        kind = Lost if cut_short else Problem
        raise kind(f"no TLS connection to {address}: {sentence(error, str(address))}") from None
