"""The bytes of one client's connection over TCP or TLS, without ever blocking.

A link is in one of two states. Until it is `up`, the loop polls for what `events` says and calls `proceed`, which
finishes the TCP connect, then the TLS handshake, then whatever a subclass adds (WebSocket). Once it is up, `receive` is
called when bytes have arrived, and `flush` when the socket takes more. Bytes that the socket did not take wait in the
link and leave first, so `write` keeps their order; whoever produces messages checks `blocked` before.

What was received is a view of one buffer for all links of the process. The client says how many bytes it used, and the
link keeps the rest (`keep`) for the next call.
"""

import errno
import os
import select
import socket
import ssl
import sys
from itertools import count

from heliograph.common.network_errors import network_error_text
from heliograph.lab.errors import ClientFailed
from heliograph.lab.load.plan import Address

# Linux looks for a free port the longer, the more ports of one address are taken; all of 127.0.0.0/8 is this machine.
_PER_ADDRESS = 4000
_BIND_ADDRESS_NO_PORT = 24  # the port is chosen when the other end is known, as it is without binding
_dialled = count(os.getpid() * _PER_ADDRESS)  # runs one after the other do not meet each other's old ports

_END_SECONDS = 10.0  # that a broker may take to close a connection whose client has said goodbye
_THROWN_AWAY = 256 * 1024

READ, WRITE = select.EPOLLIN, select.EPOLLOUT


class Inbox:
    """The buffer that all links of a process read into, one at a time; it grows when a message does not fit.

    Small enough to stay in a core's cache, which makes receiving cheap.
    """

    def __init__(self, size: int = 256 * 1024) -> None:
        self.view = memoryview(bytearray(size))

    def start(self, kept: bytes) -> memoryview:
        """All of the memory, with `kept` at its front and at least as much room behind it."""
        if 2 * len(kept) > len(self.view):
            self.view = memoryview(bytearray(4 * len(kept)))
        self.view[: len(kept)] = kept
        return self.view


class Link:
    """A connection that is being opened, then open.

    The worker polls for what `events` says and calls `proceed` until `up`, then `receive` and `flush`. A link is
    `blocked` while bytes wait for the socket: they are kept and leave first.
    """

    __slots__ = ("_kept", "_pending", "_poller", "_tls", "_where", "events", "fd", "sock", "up")

    def __init__(self, address: Address, tls: ssl.SSLContext | None, poller: select.epoll) -> None:
        self.up = False
        self._kept = b""
        self._pending: bytes | memoryview = b""
        self._poller = poller
        self._tls = tls is not None
        self._where = f"{address.host} port {address.port}"
        self.sock = _dial(address, tls)
        self.fd = self.sock.fileno()
        self.events = WRITE
        poller.register(self.fd, self.events)

    @property
    def blocked(self) -> bool:
        """Whether earlier bytes still wait for the socket."""
        return bool(self._pending)

    def proceed(self) -> bool:
        """Take the next step of opening; returns whether the connection is up now."""
        error = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise ClientFailed(f"cannot connect to {self._where}: {os.strerror(error).lower()}")
        if isinstance(self.sock, ssl.SSLSocket):
            try:
                self.sock.do_handshake()
            except ssl.SSLWantReadError:
                self._poll(READ)
                return False
            except ssl.SSLWantWriteError:
                self._poll(WRITE)
                return False
            except OSError as failure:
                raise ClientFailed(f"no TLS: {network_error_text(failure, 'the broker')}") from None
        self._poll(READ)
        self.up = self._opened()
        return self.up

    def _opened(self) -> bool:
        """Called when the transport is open; returns whether the link is up, or a subclass has more to do."""
        return True

    def receive(self, inbox: Inbox) -> tuple[memoryview, bool]:
        """The received bytes, after those that were kept, and whether there may be more to read right now."""
        kept, view = self._kept, inbox.view
        end = len(kept)
        if end:
            view = inbox.start(kept)
        while True:
            try:
                got = self._read(view[end:])
            except ClientFailed:
                if end == len(kept):
                    raise
                return view[:end], True  # these bytes may say why the broker closes; the next read fails again
            end += got
            # TLS returns one record at a time, and epoll does not see what it has buffered.
            if not self._tls or not got:
                return view[:end], False
            if end == len(view):
                return view[:end], True

    def _read(self, room: memoryview) -> int:
        try:
            got = self.sock.recv_into(room)
        except (BlockingIOError, ssl.SSLWantReadError):
            return 0
        except OSError as failure:
            raise ClientFailed(f"the connection broke: {network_error_text(failure, 'the broker')}") from None
        if not got:
            raise ClientFailed("the broker closed the connection")
        return got

    def keep(self, data: memoryview, used: int) -> None:
        """Keep the bytes after the first `used` ones; the next `receive` returns them first."""
        self._kept = bytes(data[used:]) if used < len(data) else b""

    def write(self, data: bytes | memoryview, *, lasting: bool = False) -> None:
        """Send now, or when the socket takes it; what cannot be sent now is copied unless these bytes never change."""
        if self._pending:
            self._pending = b"".join((self._pending, data))
            return
        sent = self._push(data)
        if sent < len(data):
            rest = memoryview(data)[sent:]
            self._pending = rest if lasting else bytes(rest)
            self._poll(READ | WRITE)

    def flush(self) -> None:
        """Send pending bytes, now that the socket takes more."""
        if self._pending:
            self._pending = memoryview(self._pending)[self._push(self._pending) :]
        if not self._pending:
            self._poll(READ)

    def _push(self, data: bytes | memoryview) -> int:
        """Send as much as the socket takes; returns how many bytes that was.

        A broken connection takes nothing and raises nothing here: the next read raises.
        """
        sent = 0
        try:
            sent = self.sock.send(data)
            while self._tls and sent < len(data):  # TLS takes no more than a record at a time
                sent += self.sock.send(memoryview(data)[sent:])
        except OSError:
            pass  # the socket is full, or there is none any more
        return sent

    def _poll(self, events: int) -> None:
        if events != self.events:
            self.events = events
            self._poller.modify(self.fd, events)

    def wait_for_end(self) -> None:
        """Wait until the broker has closed the connection; what it sends until then is thrown away."""
        self._poller.unregister(self.fd)
        self.sock.settimeout(_END_SECONDS)
        try:
            self.sock.sendall(self._pending)
            while self.sock.recv(_THROWN_AWAY):
                pass
        except ConnectionError:
            pass  # gone, too
        except OSError as failure:
            raise ClientFailed(f"the connection did not end: {network_error_text(failure, 'the broker')}") from None
        finally:
            self._reset()

    def close(self) -> None:
        """Reset rather than close: ten thousand sockets in TIME_WAIT would starve the next run of ports."""
        self._poller.unregister(self.fd)
        self._reset()

    def _reset(self) -> None:
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        self.sock.close()

    def close_softly(self) -> None:
        """Close without a reset, so that the last bytes still arrive."""
        self._poller.unregister(self.fd)
        self.sock.close()


def _dial(address: Address, tls: ssl.SSLContext | None) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    plain = socket.socket(family, socket.SOCK_STREAM)
    try:
        plain.setblocking(False)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if sys.platform == "linux" and address.host.startswith("127."):
            plain.setsockopt(socket.IPPROTO_IP, _BIND_ADDRESS_NO_PORT, 1)
            plain.bind((f"127.0.0.{1 + next(_dialled) // _PER_ADDRESS % 250}", 0))
        error = plain.connect_ex((address.host, address.port))
        if error not in (0, errno.EINPROGRESS):
            raise OSError(error, os.strerror(error))
        if tls is None:
            return plain
        return tls.wrap_socket(plain, server_hostname=address.host, do_handshake_on_connect=False)
    except OSError as failure:
        plain.close()
        where = f"{address.host}:{address.port}"
        raise ClientFailed(
            f"cannot connect to {address.host} port {address.port}: {network_error_text(failure, where)}"
        ) from None
