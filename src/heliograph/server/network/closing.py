"""Connections that the server has ended, kept until their clients have read why.

If a socket is closed while the other side still sends, the kernel answers with a reset, and a client that gets a reset
often does not read what came before it. So only the writing side is shut down, and what the client still sends is read
and dropped until it has closed its side too. That occupies a file descriptor for a while, so the time, the bytes and
the number of such connections are limited.
"""

import asyncio
import socket
from contextlib import suppress

LINGER = 5.0
"""Seconds that a client has to read its last bytes, and then to close; some never do."""
MOST_BYTES = 64 << 20
"""Bytes that are read from one client and dropped, before its socket is closed."""
MOST_CONNECTIONS = 256
"""Connections that linger at once; with one more, the oldest is closed."""
_READ_SIZE = 256 << 10


class Lingering:
    """Sockets on which everything has been written, until their clients close them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._left: dict[socket.socket, int] = {}
        """How many bytes each may still send, the oldest first."""
        self._timers: dict[socket.socket, asyncio.TimerHandle] = {}
        self._dropped = bytearray(_READ_SIZE)
        self._empty = asyncio.Event()

    def add(self, sock: socket.socket) -> None:
        """Take over a socket, which does not block."""
        try:
            sock.shutdown(socket.SHUT_WR)
        except OSError:  # the client has gone already
            sock.close()
            return
        if len(self._left) >= MOST_CONNECTIONS:
            self._close(next(iter(self._left)))
        self._left[sock] = MOST_BYTES
        self._timers[sock] = self._loop.call_later(LINGER, self._close, sock)
        self._loop.add_reader(sock, self._drop, sock)

    def _drop(self, sock: socket.socket) -> None:
        try:
            size = sock.recv_into(self._dropped)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            size = 0
        self._left[sock] -= size
        if not size or self._left[sock] < 0:
            self._close(sock)

    def _close(self, sock: socket.socket) -> None:
        del self._left[sock]
        self._timers.pop(sock).cancel()
        self._loop.remove_reader(sock)
        sock.close()
        if not self._left:
            self._empty.set()

    async def close_all(self, patience: float) -> None:
        """Wait up to `patience` seconds for clients to close, then close the rest."""
        if self._left:
            self._empty.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), patience)
        for sock in list(self._left):
            self._close(sock)
