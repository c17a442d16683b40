"""Clients' sockets without a transport per client: the reactor, and one outlet for each client.

A transport and a trip through asyncio's queue of callbacks cost more per read than everything else that happens to a
single small packet. Here, all clients that have sent something are read in one turn, and then all that have something
to receive are written to. Timers, signals and everything rare stay with asyncio.

**What it owns.** `Reactor` owns the table of clients by file descriptor, and reads. `SocketOutlet` owns one descriptor
and what could not be written yet (`_unsent`). `Writer` (`writing.py`) decides when outlets are flushed.

**A turn** (`Reactor._turn`): for each event, accept, or read once and hand the bytes to `outlet.above`; a client that
can be written to again writes first. When all events are handled, or a slice of time is used up, the writer ends the
broker's turn and flushes the outlets that have something to send. The rest of the events are found again in the next
turn, which starts with the client that was next.

**Accepting** belongs to a turn: listening sockets are in the same epoll set, and a new client is read from in the same
turn, because most clients send their first packet together with the last one of TCP's handshake. Sockets are plain file
descriptors: an object around each would take longer to make and to close than what it does for us.

**States of an outlet.** Open (`fd >= 0`); finished (`finished`: nothing more will be written, and it is not read from
any more); gone (`fd == -1`). From finished to gone it goes when everything is written (`_part`: the socket is handed to
`closing.py`), when writing takes too long, or when the client disappears. `gone` may be called in any state.

**Invariants.** `_clients[fd]` is the outlet with that `fd`, and no other; `_let_go` removes it before the descriptor is
closed, because the kernel gives its number to the next client. While `_unsent` is not empty, new chunks go behind it,
and nothing is written directly. Above `HIGH_WATER` the conversation is paused; above `HARD_LIMIT` the client is not
read from. A defect met while one client is served never ends the turn for others.

**Hot path.** Reading is spelled out in `_turn`, and `flush` has a branch of its own for one small chunk: each function
call here is a price on every packet.

What is here serves plain TCP and Unix sockets. TLS and WebSocket are layers on top of it (`layered.py`).
"""

import os
import socket
import struct
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from time import monotonic
from typing import Protocol

from heliograph.broker import SLICE, Authenticator
from heliograph.server.config.schema import ListenerProtocol
from heliograph.server.network.loop import READABLE, WRITABLE, ClientFiles
from heliograph.server.network.writing import HARD_LIMIT, HIGH_WATER, NetworkOutlet, Writer
from heliograph.server.watchdog import Mark

SINGLE_READ = 448
"""Bytes to read while a client has never sent more at once: up to this size, Python uses its own allocator, which is
faster than the C library's."""
SMALLEST_READ = 4 << 10
"""Bytes to ask for at least from other clients."""
LARGEST_READ = 256 << 10
_LOOK_AT_CLOCK_AFTER = 16
"""The clock is read once for this many clients."""
MOST_PIECES = 256  # that are sent with one call; the kernel takes 1024
_FEW, _LITTLE = 64, 16 << 10
"""A turn with fewer events and bytes is followed by a pause, so that the next one has more to do at once."""


class Receiver(Protocol):
    """Takes bytes from the layer below, or from the socket."""

    def receive(self, data: bytes) -> None:
        """Take bytes from the layer below."""


class SocketOutlet(NetworkOutlet):
    """One client on one non-blocking socket: reads for its connection, writes for the broker."""

    __slots__ = ("_reading", "_unsent", "_unsent_bytes", "_watched", "above", "fd", "reactor", "read_size")

    above: Receiver
    """Takes what has been read from the socket: the conversation, unless there are layers between."""

    def __init__(self, reactor: "Reactor", fd: int, address: object) -> None:
        """`fd` is that of a socket that does not block; this outlet owns it, and closes it."""
        super().__init__(address)
        self.reactor = reactor
        self.fd = fd
        # Grows for clients that send a lot and shrinks again: idle ones must not cost large buffers.
        self.read_size = SINGLE_READ
        self._unsent: deque[memoryview] | None = None
        self._unsent_bytes = 0
        self._watched = READABLE
        self._reading = READABLE

    def adapt(self, size: int) -> None:
        """Adapt the read size after a read of `size` bytes: all that was asked for, or much less."""
        if size == self.read_size:
            self.read_size = min(max(2 * size, SMALLEST_READ), LARGEST_READ)
        elif self.read_size > SMALLEST_READ:
            self.read_size >>= 1

    def flush(self) -> int:
        chunks = self.chunks
        if len(chunks) == 1 and not self._unsent and not self.finished and self.fd >= 0:
            # What most devices get, an acknowledgement or a message, needs no look at anything else.
            self.chunks = []
            size = len(chunks[0])
            try:
                sent = os.write(self.fd, chunks[0])
            except (BlockingIOError, InterruptedError):
                sent = 0
            except OSError:
                self.gone()
                return 0
            if sent < size:
                self._queue(chunks, sent)
            return size
        if self.left and not chunks and not self._unsent and self.finished:
            self.gone()  # a client that has disconnected gets no answer
            return 0
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
                sent = os.write(self.fd, pieces[0]) if len(pieces) == 1 else os.writev(self.fd, pieces[:MOST_PIECES])
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
        """Queue chunks, without their first `sent` bytes, until the socket takes them."""
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
        """Handle an event other than data to read; returns whether there may be data as well."""
        if event & WRITABLE:
            self._write_more()
        return self.fd >= 0 and event & ~WRITABLE != 0

    def _write_more(self) -> None:
        unsent = self._unsent
        while unsent:
            try:
                sent = os.writev(self.fd, list(islice(unsent, MOST_PIECES)))
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
        """Write chunks that waited until all unsent bytes were sent; returns whether more remain."""
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

    def _part(self) -> None:
        """Close when everything has been written, or let the client close first."""
        if self.left:
            self.gone()
            return
        self.reactor.epoll.unregister(self.fd)
        sock = socket.socket(fileno=self.fd)
        self._let_go()
        self.reactor.writer.lingering.add(sock)

    def gone(self) -> None:
        """End the connection, whichever side closed it, and close the descriptor."""
        fd = self.fd
        if fd >= 0:
            self._let_go()
            try:  # noqa: SIM105 (`suppress` would take as long as all else here)
                os.close(fd)
            except ConnectionResetError:  # some systems say so at this point
                pass

    def _let_go(self) -> None:
        self.reactor.forget(self)
        self.fd = -1
        self._unsent = self._unsent_hold = None
        self.reactor.writer.closed(self)
        del self.above  # as with the connection

    def abort(self) -> None:
        if self.fd >= 0:
            _forget_unsent(self.fd)
            self.gone()


def _forget_unsent(fd: int) -> None:
    """Let the kernel, too, drop what it still has for the client as soon as this socket is closed."""
    sock = socket.socket(fileno=fd)
    with suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.detach()


class Reactor:
    """The sockets of all clients, and the listening sockets."""

    def __init__(self, files: ClientFiles, writer: Writer) -> None:
        self.writer = writer
        self._clients: dict[int, SocketOutlet] = {}
        self._listening: dict[int, Callable[[], None]] = {}
        self.epoll = files.epoll
        self._closing = files.closing
        self._events: list[tuple[int, int]] = []
        self._read_until = 0.0
        self._next = -1
        """Whose turn it is first, if there was no time for all in the last one."""
        files.on_events(self._turn)
        writer.watchdog.readings = self._readings

    def add_reader(self, fd: int, callback: Callable[[], None], /) -> None:
        """Call this whenever the file, that of a listening socket, can be read: it adds clients."""
        self.epoll.register(fd, READABLE)
        self._listening[fd] = callback

    def remove_reader(self, fd: int, /) -> None:
        """Stop watching this file."""
        if self._listening.pop(fd, None) is not None:
            self.epoll.unregister(fd)

    def add(self, fd: int, address: object, authenticator: Authenticator, protocol: ListenerProtocol) -> None:
        """Serve a client that speaks its protocol on this accepted socket, which does not block, without any layer."""
        outlet = SocketOutlet(self, fd, address)
        self.writer.opened(outlet, authenticator, protocol)
        outlet.above = outlet.connection
        self.register(outlet)

    def register(self, outlet: SocketOutlet) -> None:
        """Read from this client from now on, and in this turn for the first time."""
        fd = outlet.fd
        self._clients[fd] = outlet
        self.epoll.register(fd, READABLE)
        self._events.append((fd, READABLE))

    def drop(self, fd: int) -> None:
        """Close the socket of a client that could not be accepted."""
        for outlet in [one for one in self.writer.outlets if isinstance(one, SocketOutlet) and one.fd == fd]:
            outlet.fd = -1  # which will soon be another client's
            self.writer.outlets.discard(outlet)
        self._clients.pop(fd, None)
        os.close(fd)

    def forget(self, outlet: SocketOutlet) -> None:
        """The client's socket is about to be closed, which takes it out of the epoll set, or has been taken out."""
        fd = outlet.fd
        del self._clients[fd]
        self._closing(fd)

    def _turn(self, events: list[tuple[int, int]]) -> float:
        """Read from all these clients, and write; returns for how many seconds clients need not be polled."""
        clients = self._clients
        defects = self.writer.broker.defects
        received = 0
        if self._next >= 0:
            events = self._from_next(events)
        self._events = events  # clients that are accepted in this turn are added at the end
        left = _LOOK_AT_CLOCK_AFTER
        until = monotonic() + SLICE if len(events) >= left else 0.0
        read = os.read
        for fd, event in events:
            left -= 1
            if not left:
                left = _LOOK_AT_CLOCK_AFTER
                if monotonic() > until:
                    self._next = fd  # it is told of again, as are those behind it
                    break
            try:
                outlet = clients[fd]
            except KeyError:  # ended by another client's packet in this very turn, or not a client
                if fd in self._listening:
                    self._accept(fd)
                    until = until or monotonic() + SLICE  # there are more to read from now
                continue
            defects.serving = outlet
            try:
                if event != READABLE and not outlet.writable(event):
                    continue
                # Reading is spelled out here: this is the price of every single packet.
                asked = outlet.read_size
                data = read(fd, asked)
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
        return self.writer.broker.turn.pause(now) if received < _LITTLE and len(events) < _FEW else 0.0

    def _accept(self, fd: int) -> None:
        """Accept clients on this listening socket."""
        self.writer.broker.defects.serving = None
        try:
            self._listening[fd]()
        except Exception:
            self.writer.broker.defects.note("accepting clients")

    def _from_next(self, events: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The events, from the client on that was next when the last turn ran out of time."""
        first = next((number for number, (fd, _) in enumerate(events) if fd == self._next), 0)
        self._next = -1
        return events[first:] + events[:first]

    def _readings(self) -> Iterator[Mark]:
        """The clients that were read from in this turn, with times; for the watchdog."""
        for fd, _ in self._events:
            outlet = self._clients.get(fd)
            if outlet is not None:
                yield outlet.connection.heard, outlet.describe
        yield self._read_until, lambda: {"what": "messages handed out and written at the end of a turn"}
