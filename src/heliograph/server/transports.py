"""Clients on asyncio transports: TLS everywhere, and plain TCP where there is no epoll."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

from heliograph.broker.gate import Gate
from heliograph.server.config_tables import ListenerProtocol
from heliograph.server.writing import HARD_LIMIT, HIGH_WATER, NetworkOutlet, Writer, forget_unsent, peer_text

GateFor = Callable[[asyncio.BaseTransport], Gate]
"""Chooses the gate for a new connection: a TLS client's certificate is known by then."""


class TransportOutlet(NetworkOutlet):
    """An outlet on an asyncio transport."""

    __slots__ = ("_kept", "_out_of_memory", "_reading_paused", "transport", "writer")

    def __init__(self, transport: asyncio.Transport, writer: Writer) -> None:
        super().__init__()
        self.writer = writer
        transport.set_write_buffer_limits(HIGH_WATER)
        self.transport = transport
        self._reading_paused = False
        self._out_of_memory = False
        self._kept: socket.socket | None = None
        """A second descriptor of the client's socket, so that it stays open when the transport has been closed."""

    def flush(self) -> int:
        data = b"".join(self.take_chunks())
        if data:
            self.write(data)
        if self.finished:
            self.close()
        else:
            self.check_unsent()
        return len(data)

    def check_unsent(self) -> None:
        """Something has been written: a client that does not read it is not read from either."""
        unsent = self.transport.get_write_buffer_size()
        if not self.note_unsent(unsent):
            self.connection.pause()
            self.stop_reading()
            if not self._out_of_memory:
                self._out_of_memory = True
                self.writer.look_again(self._look_again)
        elif unsent > HARD_LIMIT:
            self.stop_reading()

    def write(self, data: bytes) -> None:
        """Hand bytes to the transport in the form that it carries."""
        self.transport.write(data)

    def _look_again(self) -> None:
        """There was no memory for what is unsent: go on when it has been sent, or there is."""
        if self.transport.is_closing():
            return
        unsent = self.transport.get_write_buffer_size()
        self.note_unsent(0)
        if not self.note_unsent(unsent):
            self.writer.look_again(self._look_again)
            return
        self._out_of_memory = False
        if unsent <= HIGH_WATER:  # or the transport tells when that much is left
            self.go_on_reading()
            self.connection.resume()
            self.writer.soon()

    def close(self) -> None:
        """Close the connection when everything has been written."""
        if not self.transport.is_closing():
            if not self.left:
                with suppress(OSError):  # without a descriptor to be had, the client may meet a reset
                    self._kept = self.transport.get_extra_info("socket").dup()
            self.transport.close()
            self.writer.linger(self)

    def closed(self) -> None:
        """The transport has been closed, or the connection has been lost."""
        self.writer.closed(self)
        kept, self._kept = self._kept, None
        if kept is not None:
            self.writer.lingering.add(kept)

    def drained(self) -> None:
        """The client has read most of what was written."""
        self.note_unsent(self.transport.get_write_buffer_size())
        self.go_on_reading()

    def stop_reading(self) -> None:
        self._reading_paused = True
        self.transport.pause_reading()

    def go_on_reading(self) -> None:
        if self._reading_paused and self.transport.get_write_buffer_size() <= HARD_LIMIT:
            self._reading_paused = False
            self.transport.resume_reading()

    def abort(self) -> None:
        forget_unsent(self.transport.get_extra_info("socket"))
        if self._kept is not None:
            self._kept.close()
            self._kept = None
        self.transport.abort()

    def peer(self) -> str:
        return peer_text(self.transport.get_extra_info("peername"))


class TransportClient(asyncio.Protocol):
    """One client on an asyncio transport."""

    __slots__ = ("_gate_for", "_protocol", "_writer", "outlet")

    def __init__(self, writer: Writer, gate_for: GateFor, protocol: ListenerProtocol) -> None:
        self._writer = writer
        self._gate_for = gate_for
        self._protocol = protocol
        self.outlet: TransportOutlet

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.outlet = self.new_outlet(transport)
        try:
            self._writer.opened(self.outlet, self._gate_for(transport), self._protocol)
        except BaseException:
            transport.abort()  # the loop tells of it
            raise

    def new_outlet(self, transport: asyncio.Transport) -> TransportOutlet:
        """The outlet for this kind of client."""
        return TransportOutlet(transport, self._writer)

    def data_received(self, data: bytes) -> None:
        self._writer.watchdog.mark(self.outlet.describe)
        broker = self._writer.broker
        broker.stats.bytes_received += len(data)
        broker.defects.serving = self.outlet
        try:
            self.take(data)
        except Exception:
            # A defect met by one client's packets must not end the service for all others.
            broker.defects.note("what a client sent", self.outlet)
        broker.defects.serving = None
        self._writer.soon()

    def take(self, data: bytes) -> None:
        """Bytes have come; here they are the client's own."""
        self.outlet.connection.receive(data)

    def pause_writing(self) -> None:
        self.outlet.connection.pause()

    def resume_writing(self) -> None:
        self.outlet.drained()
        self.outlet.connection.resume()
        self._writer.soon()

    def connection_lost(self, exc: Exception | None) -> None:
        self.outlet.note_unsent(0)
        if self.outlet in self._writer.outlets:
            self.outlet.closed()
        self._writer.soon()
