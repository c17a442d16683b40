"""Clients with layers between the socket and the conversation: TLS, WebSocket, or both.

    socket -> [TLS] -> [WebSocket] -> conversation

**What it owns.** `LayeredOutlet` owns the socket, as `SocketOutlet` does, its layers, and bytes that wait to be
encrypted. Layers (`tls.py`, `websocket.py`) take bytes and hand on bytes; they do no I/O and keep no sockets.

**Inbound.** `receive` is called from layer to layer, from the socket upwards, within one read. A layer that has more to
do than a turn allows keeps the rest, stops reading, and goes on with work in slices.

**Outbound.** Writing happens once per turn, when the writer flushes the outlet. `take_chunks` asks the layers from the
top down: frames around messages, then records around frames. What a layer itself has to send (a pong, new keys, an
alert) waits in it, and `speak` marks the outlet as dirty, so that it is flushed in this turn.

**Invariants.** Not more than `_ENCRYPTED_AT_ONCE` bytes are encrypted for a client that has not yet read what was
encrypted before: the rest waits in plain text in `_waiting`, and is counted in `_unsent_bytes`. Records leave in the
order in which OpenSSL made them. The closing alert is the last record, and is sent once.

**The end.** `finish` is the end from this side: what is there is written, then WebSocket's close frame and TLS's alert,
then the socket goes to `closing.py`. If the client closes its side, `end_when_taken` waits until all that it sent
before has been handled, and then finishes.
"""

import os
from collections import deque
from typing import Protocol

from heliograph.server.network.sockets import Reactor, SocketOutlet

_ENCRYPTED_AT_ONCE = 256 << 10
"""Bytes for one client and turn, which take a tenth of a millisecond. What a client does not read is not encrypted."""


class Encryption(Protocol):
    """The layer next to the socket, as the outlet uses it."""

    def encrypt(self, data: bytes | memoryview) -> bytes:
        """These bytes as records, behind whatever else there is to send; b"" asks for the latter alone."""

    def close_notify(self) -> bytes:
        """The alert that ends the connection."""

    def drop(self) -> None:
        """The client has gone: drop everything."""


class Framing(Protocol):
    """The layer next to the conversation, as the outlet uses it."""

    def in_frames(self, pieces: list[bytes | memoryview]) -> list[bytes | memoryview]:
        """All of this in frames, behind what the layer itself has to send."""

    def drop(self) -> None:
        """The client has gone: drop everything."""


class LayeredOutlet(SocketOutlet):
    """One client with one or two layers above its socket."""

    __slots__ = ("_at_end", "_sent_close_notify", "_waiting", "broker", "tls", "websocket")

    def __init__(self, reactor: Reactor, fd: int, address: object) -> None:
        super().__init__(reactor, fd, address)
        self.broker = reactor.writer.broker
        self.tls: Encryption | None = None
        self.websocket: Framing | None = None
        self._waiting: deque[memoryview] | None = None
        """Plain text, to be encrypted when the client has read what was encrypted before."""
        self._at_end = False
        """The client has closed its side; finish when all that it sent has been handled."""
        self._sent_close_notify = False

    def speak(self) -> None:
        """A layer has something to send: flush this outlet at the end of the turn."""
        self.broker.turn.look_at(self)

    # The end

    def finish(self) -> None:
        """Write what there is, and end the connection."""
        self.finished = True
        self.speak()

    def end_when_taken(self) -> None:
        """The client has closed its side: finish, as soon as all that it sent before has been handled."""
        self._at_end = True
        self._end_if_taken()

    def _end_if_taken(self) -> None:
        if self._reading and not self.finished:
            self.finish()

    def go_on_reading(self) -> None:
        super().go_on_reading()
        if self._at_end:  # whoever says so is about to take what has waited, and may stop again
            self.broker.slices.later(self, self._end_if_taken)

    def _part(self) -> None:
        if not self._waiting:
            super()._part()

    def _let_go(self) -> None:
        self._waiting = None
        self.broker.slices.drop(self)
        super()._let_go()
        for layer in (self.tls, self.websocket):
            if layer is not None:
                layer.drop()
        self.tls = self.websocket = None  # or layers and outlet would keep each other alive

    # Bytes out

    def take_chunks(self) -> list[bytes | memoryview]:
        pieces = super().take_chunks()
        if self.websocket is not None:
            pieces = self.websocket.in_frames(pieces)
        if self.tls is None:
            return pieces
        if self._unsent or self._waiting or sum(map(len, pieces)) > _ENCRYPTED_AT_ONCE:
            self._wait(pieces)
            # New keys and alerts count as unsent, too, and come before what waits.
            data = self.tls.encrypt(b"") if self._unsent else self._encrypt_waiting()
        else:
            data = self.tls.encrypt(b"".join(pieces))
            if self.finished:
                data += self._close_notify()
        return [data] if data else []

    def flush(self) -> int:
        size = self._flush_all()
        if self._waiting and self.fd >= 0:
            self._queue([], 0)
            if self.finished:
                self.reactor.writer.linger(self)
        return size

    def _wait(self, pieces: list[bytes | memoryview]) -> None:
        if self._waiting is None:
            self._waiting = deque()
        self._waiting += map(memoryview, pieces)
        self._unsent_bytes += sum(map(len, pieces))

    def _write_what_waits(self) -> bool:
        data = self._encrypt_waiting() if self.tls is not None else b""
        if not data:
            return False
        try:
            sent = os.write(self.fd, data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self.gone()
            return True
        if sent < len(data):
            self._unsent = deque([memoryview(data)[sent:]])
            self._unsent_bytes += len(data) - sent
        return bool(self._unsent or self._waiting)

    def _encrypt_waiting(self) -> bytes:
        """The next records."""
        assert self.tls is not None
        pieces, room = [], _ENCRYPTED_AT_ONCE
        while self._waiting and room:
            piece = self._waiting.popleft()
            if len(piece) > room:
                self._waiting.appendleft(piece[room:])
            pieces.append(piece[:room])
            room -= len(pieces[-1])
        self._unsent_bytes -= _ENCRYPTED_AT_ONCE - room
        return self.tls.encrypt(b"".join(pieces)) + (b"" if self._waiting else self._close_notify())

    def _close_notify(self) -> bytes:
        """The closing alert of TLS, once, if this is the end."""
        if not self.finished or self._sent_close_notify:
            return b""
        assert self.tls is not None
        self._sent_close_notify = True
        return self.tls.close_notify()
