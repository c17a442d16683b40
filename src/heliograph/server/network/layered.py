"""Clients that come by TLS or WebSocket: layers between the socket and the conversation.

socket -> [TLS] -> [WebSocket] -> conversation

What has been read goes up from layer to layer; each takes off what is its own. What is to be written goes down, and
gets frames and then records around it. Layers do no I/O. What a layer itself has to say (a pong, a key) waits in it
until the client is written to, at the end of the turn, like all that is for clients.
"""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING

from heliograph.server.network.sockets import Reactor, SocketOutlet

if TYPE_CHECKING:
    from heliograph.server.network.tls import Tls
    from heliograph.server.network.websocket import WebSocket

_ENCRYPTED_AT_ONCE = 256 << 10
"""Bytes for one client and turn, which take a tenth of a millisecond. What a client does not read is not encrypted."""


class LayeredOutlet(SocketOutlet):
    """One client with one or two layers above its socket."""

    __slots__ = ("_at_end", "_said_farewell", "_waiting", "broker", "tls", "websocket")

    def __init__(self, reactor: Reactor, fd: int, address: object) -> None:
        super().__init__(reactor, fd, address)
        self.broker = reactor.writer.broker
        self.tls: Tls | None = None
        self.websocket: WebSocket | None = None
        self._waiting: deque[memoryview] | None = None
        """What is to be encrypted when the client has read what was encrypted before."""
        self._at_end = False
        """The client will send nothing more, and is done with when the last has been taken."""
        self._said_farewell = False

    def speak(self) -> None:
        """A layer has something to say."""
        self.broker.turn.look_at(self)

    # The end

    def finish(self) -> None:
        """Write what there is, and end the connection."""
        self.finished = True
        self.speak()

    def end_when_taken(self) -> None:
        """Nothing more will come: finish, as soon as what came before need not wait any more."""
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
                data += self._farewell()
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
        return self.tls.encrypt(b"".join(pieces)) + (b"" if self._waiting else self._farewell())

    def _farewell(self) -> bytes:
        """What TLS has to say at the end."""
        if not self.finished or self._said_farewell:
            return b""
        assert self.tls is not None
        self._said_farewell = True
        return self.tls.farewell()
