"""Clients' sockets without a transport per client.

A transport and a trip through asyncio's queue of callbacks cost more per read than everything else that happens to a
single small packet. Here, all clients that have sent something are read in one turn, and then all that have something
to receive are written to. Timers, signals and everything rare stay with asyncio.

What is here serves plain TCP and Unix sockets. TLS and WebSocket are layers on top of it (`layered.py`).
"""

import os
import socket
from collections import deque
from collections.abc import Iterator
from itertools import islice
from time import monotonic
from typing import Protocol

from heliograph.broker.gate import Gate
from heliograph.broker.slices import SLICE
from heliograph.server.config_tables import ListenerProtocol
from heliograph.server.loop import READABLE, WRITABLE, ClientFiles
from heliograph.server.watchdog import Mark
from heliograph.server.writing import HARD_LIMIT, HIGH_WATER, NetworkOutlet, Writer, forget_unsent, peer_text

SMALLEST_READ = 4 << 10
LARGEST_READ = 256 << 10
_LOOK_AT_CLOCK_AFTER = 16
"""Clients that are read from before it is seen how long the turn has taken."""
MOST_PIECES = 256  # that are sent with one call; the kernel takes 1024


class Receiver(Protocol):
    """Takes what comes from below."""

    def receive(self, data: bytes) -> None:
        """Bytes have come."""


class SocketOutlet(NetworkOutlet):
    """One client on one non-blocking socket: reads for its connection, writes for the broker."""

    __slots__ = ("_reading", "_unsent", "_unsent_bytes", "_watched", "above", "fd", "reactor", "read_size", "socket")

    above: Receiver
    """Takes what has been read from the socket: the conversation, unless there are layers between."""

    def __init__(self, reactor: "Reactor", sock: socket.socket) -> None:
        super().__init__()
        self.reactor = reactor
        self.socket = sock
        self.fd = sock.fileno()
        # Grows for clients that send a lot and shrinks again: idle ones must not cost large buffers.
        self.read_size = SMALLEST_READ
        self._unsent: deque[memoryview] | None = None
        self._unsent_bytes = 0
        self._watched = READABLE
        self._reading = READABLE

    def adapt(self, size: int) -> None:
        """A read brought `size` bytes: all that was asked for, or much less than that."""
        if size == self.read_size:
            self.read_size = min(2 * size, LARGEST_READ)
        elif self.read_size > SMALLEST_READ:
            self.read_size >>= 1

    def flush(self) -> int:
        chunks = self.chunks
        if len(chunks) == 1 and not self._unsent and not self.finished and self.fd >= 0:
            # What most devices get, an acknowledgement or a message, needs no look at anything else.
            self.chunks = []
            size = len(chunks[0])
            try:
                sent = self.socket.send(chunks[0])
            except (BlockingIOError, InterruptedError):
                sent = 0
            except OSError:
                self.gone()
                return 0
            if sent < size:
                self._queue(chunks, sent)
            return size
        return self._flush_all()

    def _flush_all(self) -> int:
        if self.fd < 0:
            self.chunks = []
            return 0
        pieces = self.take_chunks()
        size = sum(map(len, pieces))
        sent = 0
        if size and not self._unsent:
            try:
                sent = self.socket.send(pieces[0]) if len(pieces) == 1 else self.socket.sendmsg(pieces[:MOST_PIECES])
            except (BlockingIOError, InterruptedError):
                pass
            except OSError:
                self.gone()
                return 0
        if sent < size:
            self._queue(pieces, sent)
        elif self.finished and not self._unsent:
            self._part()
        if self.finished and self._unsent:
            self.reactor.writer.linger(self)
        return size

    def _queue(self, pieces: list[bytes | memoryview], sent: int) -> None:
        """Keep what is to be written, less what has been sent of it, until the client takes it."""
        if self._unsent is None:
            self._unsent = deque()
        for piece in pieces:
            if sent < len(piece):
                self._unsent.append(memoryview(piece)[sent:])
                self._unsent_bytes += len(piece) - sent
                sent = 0
            else:
                sent -= len(piece)
        events = WRITABLE
        has_memory = self.note_unsent(self._unsent_bytes)
        if self._unsent_bytes > HIGH_WATER or not has_memory:
            self.connection.pause()
        if self._unsent_bytes <= HARD_LIMIT and has_memory and not self.finished:
            events |= self._reading
        self._watch(events)

    def writable(self, event: int) -> bool:
        """Something other than just data to read has happened; whether there may be something to read as well."""
        if event & WRITABLE:
            self._write_more()
        return self.fd >= 0 and event & ~WRITABLE != 0

    def _write_more(self) -> None:
        unsent = self._unsent
        while unsent:
            try:
                sent = self.socket.sendmsg(list(islice(unsent, MOST_PIECES)))
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                self.gone()
                return
            self._unsent_bytes -= sent
            while unsent and sent >= len(unsent[0]):
                sent -= len(unsent.popleft())
            if sent:
                unsent[0] = unsent[0][sent:]
                break
        self.note_unsent(self._unsent_bytes)
        if unsent or self._write_what_waits():
            return
        self._unsent = None
        if self.finished:
            self._part()
            return
        self._watch(self._reading)
        self.connection.resume()

    def _write_what_waits(self) -> bool:
        """All that was unsent has been sent: write what had to wait for that. Whether there is more to come."""
        return False

    def stop_reading(self) -> None:
        self._reading = 0
        if self.fd >= 0:
            self._watch(self._watched & ~READABLE)

    def go_on_reading(self) -> None:
        self._reading = READABLE
        if self.fd >= 0 and self._unsent_bytes <= HARD_LIMIT and not self.finished:
            self._watch(self._watched | READABLE)

    def _watch(self, events: int) -> None:
        if events != self._watched:
            self._watched = events
            self.reactor.epoll.modify(self.fd, events)

    def peer(self) -> str:
        try:
            return peer_text(self.socket.getpeername())
        except OSError:
            return "gone"

    def _part(self) -> None:
        """Everything has been written, and nothing more will come."""
        if self.left:
            self.gone()
            return
        self.reactor.epoll.unregister(self.fd)
        self._let_go()
        self.reactor.writer.lingering.add(self.socket)

    def gone(self) -> None:
        """The connection is over, from either side."""
        if self.fd >= 0:
            self._let_go()
            self.socket.close()

    def _let_go(self) -> None:
        self.reactor.forget(self)
        self.fd = -1
        self._unsent = None
        self.note_unsent(0)
        self.reactor.writer.closed(self)
        del self.above  # as with the connection

    def abort(self) -> None:
        forget_unsent(self.socket)
        self.gone()


class Reactor:
    """The sockets of all clients."""

    def __init__(self, files: ClientFiles, writer: Writer) -> None:
        self.writer = writer
        self._clients: dict[int, SocketOutlet] = {}
        self.epoll = files.epoll
        self._closing = files.closing
        self._events: list[tuple[int, int]] = []
        self._read_until = 0.0
        self._next = -1
        """Whose turn it is first, if there was no time for all in the last one."""
        files.on_events(self._turn)
        writer.watchdog.readings = self._readings

    def add(self, sock: socket.socket, gate: Gate, protocol: ListenerProtocol) -> SocketOutlet:
        """Serve a client that speaks its protocol on this accepted socket, which does not block, without any layer."""
        outlet = SocketOutlet(self, sock)
        self.writer.opened(outlet, gate, protocol)
        outlet.above = outlet.connection
        self.register(outlet)
        return outlet

    def register(self, outlet: SocketOutlet) -> None:
        """Read from this client from now on."""
        self._clients[outlet.fd] = outlet
        self.epoll.register(outlet.fd, READABLE)

    def forget(self, outlet: SocketOutlet) -> None:
        """The client's socket is about to be closed, which takes it out of the epoll set, or has been taken out."""
        del self._clients[outlet.fd]
        self._closing(outlet.fd)

    def _turn(self, events: list[tuple[int, int]]) -> None:
        clients = self._clients
        self._events = events
        defects = self.writer.broker.defects
        received = 0
        if self._next >= 0:
            events = self._from_next(events)
        until = monotonic() + SLICE if len(events) >= _LOOK_AT_CLOCK_AFTER else 0.0
        for number, (fd, event) in enumerate(events):
            if number % _LOOK_AT_CLOCK_AFTER == _LOOK_AT_CLOCK_AFTER - 1 and monotonic() > until:
                self._next = fd  # it is told of again, as are those behind it
                break
            outlet = clients.get(fd)
            if outlet is None:  # ended by another client's packet in this very turn, or not a client
                continue
            defects.serving = outlet
            try:
                if event != READABLE and not outlet.writable(event):
                    continue
                # Reading is spelled out here: this is the price of every single packet.
                asked = outlet.read_size
                data = os.read(fd, asked)
                size = len(data)
                if size == asked or (asked > SMALLEST_READ and size < asked >> 2):
                    outlet.adapt(size)
                received += size
                if size:
                    outlet.above.receive(data)
                else:
                    outlet.gone()
            except (BlockingIOError, InterruptedError):
                pass
            except OSError:
                outlet.gone()
            except Exception:
                # A defect met by one client's packets must not end the service for all others.
                defects.note("what a client sent", outlet)
        defects.serving = None
        self.writer.broker.stats.bytes_received += received
        self._read_until = now = monotonic()
        self.writer.flush(now)

    def _from_next(self, events: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Events in such an order that everybody has his turn."""
        first = next((number for number, (fd, _) in enumerate(events) if fd == self._next), 0)
        self._next = -1
        return events[first:] + events[:first]

    def _readings(self) -> Iterator[Mark]:
        """Who was read from in this turn, and when; for the watchdog."""
        for fd, _ in self._events:
            outlet = self._clients.get(fd)
            if outlet is not None:
                yield outlet.connection.heard, outlet.describe
        yield self._read_until, lambda: {"what": "messages handed out and written at the end of a turn"}
