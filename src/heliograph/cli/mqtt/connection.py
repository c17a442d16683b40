"""A socket to an MQTT server: TCP, TLS or Unix, never blocking longer than asked."""

import contextlib
import select
import socket
import ssl
import time
from dataclasses import dataclass

from heliograph.cli.errors import ConnectionFailed
from heliograph.common.network_errors import network_error_text
from heliograph.errors import Problem

CONNECT_TIMEOUT = 10.0
_CLOSE_TIMEOUT = 2.0
_RECEIVE_SIZE = 256 * 1024


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
    """Sends and receives bytes. A connection that breaks raises ConnectionFailed when it is used."""

    def __init__(self, address: Address) -> None:
        self._name = str(address)
        self._socket = _open(address)
        self._socket.setblocking(False)
        self._outgoing = bytearray()
        self._open = True

    @property
    def unsent(self) -> int:
        """Bytes that wait for the network."""
        return len(self._outgoing)

    def send(self, data: bytes) -> None:
        """Put bytes in line; `wait` sends them."""
        self._outgoing += data

    def wait(self, timeout: float | None, also: int | None = None) -> tuple[bytes, bool]:
        """Send and receive what can be, waiting for something to happen, but no longer than `timeout` (None: for ever).

        `also` is one more file descriptor to wait for. The answer is what has come, and whether `also` can be read.
        """
        readers: list[int] = [self._socket.fileno()]
        if also is not None:
            readers.append(also)
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            timeout = 0  # these bytes have left the kernel already, so that select cannot see them
        writers = [self._socket.fileno()] if self._outgoing else []
        readable, writable, _ = select.select(readers, writers, [], timeout)
        # What the server has said comes first: it may be the reason why sending fails.
        data = self._receive() if timeout == 0 or self._socket.fileno() in readable else b""
        if writable:
            self._send_some()
        return data, also in readable

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

    def _receive(self) -> bytes:
        try:
            data = self._socket.recv(_RECEIVE_SIZE)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return b""
        except OSError as error:
            self._open = False
            raise ConnectionFailed(
                f"connection to {self._name} lost: {network_error_text(error, self._name)}"
            ) from None
        if not data:
            self._open = False
            raise ConnectionFailed(f"connection to {self._name} lost: the server closed it")
        return data


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
        raise ConnectionFailed(f"cannot connect to {address}: {network_error_text(error, str(address))}") from None
    if address.tls is None:
        return plain
    try:
        return address.tls.wrap_socket(plain, server_hostname=address.host)
    except OSError as error:
        plain.close()
        # A server that is about to stop may cut a handshake short; anything else TLS does not like stays as it is.
        cut_short = not isinstance(error, ssl.SSLError) or isinstance(error, ssl.SSLEOFError)
        kind = ConnectionFailed if cut_short else Problem
        raise kind(f"no TLS connection to {address}: {network_error_text(error, str(address))}") from None
