"""MQTT or AMQP in WebSocket frames, for browsers. The frames and the handshake are the `websockets` library's."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from websockets.exceptions import InvalidState
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from heliograph.broker.conversation import Conversation
from heliograph.broker.memory import Hold
from heliograph.broker.portions import Portions
from heliograph.server.config_tables import ListenerProtocol
from heliograph.server.transports import GateFor, TransportClient, TransportOutlet
from heliograph.server.writing import Writer

_SUBPROTOCOLS = {
    # `mqttv3.1` is what clients of MQTT 3.1 ask for.
    ListenerProtocol.MQTT: [Subprotocol("mqtt"), Subprotocol("mqttv3.1")],
    ListenerProtocol.AMQP: [Subprotocol("amqp")],
}
_UNSUPPORTED_DATA = 1003
_NORMAL_CLOSURE = 1000
_TRY_AGAIN_LATER = 1013
# What has come of a frame is charged from so many bytes on; less is part of what a connection takes.
_WORTH_CHARGING = 4096
# The library makes an object for each frame of a read, and a read may hold 40,000 of them: so many bytes of the
# smallest frames do not take long.
_SMALL = 4 << 10
# A frame may hold several packets; this much more than the largest packet is accepted in one.
_FRAME_SLACK = 1 << 20

MayOpen = Callable[[str, str], bool]
"""Whether a page of this origin may open a WebSocket; gets the headers Origin and Host."""


class WebSocketOutlet(TransportOutlet):
    """An outlet that puts what it writes into binary frames."""

    __slots__ = ("websocket",)

    def __init__(self, transport: asyncio.Transport, writer: Writer, websocket: ServerProtocol) -> None:
        super().__init__(transport, writer)
        self.websocket = websocket

    def write(self, data: bytes) -> None:
        try:
            self.websocket.send_binary(data)
        except InvalidState:  # the closing handshake is under way
            return
        self.send_frames()

    def send_frames(self) -> None:
        """Write what the WebSocket protocol wants to say."""
        pieces = self.websocket.data_to_send()
        if written := b"".join(pieces):
            self.transport.write(written)
        if b"" in pieces and self.transport.can_write_eof():  # that is how it asks for the end
            with suppress(OSError):  # the client has gone already
                self.transport.write_eof()

    def close(self) -> None:
        if self.websocket.state is State.OPEN:
            self.websocket.send_close(_NORMAL_CLOSURE)  # the client's own protocol has told why
            self.send_frames()
        super().close()


class WebSocketClient(TransportClient):
    """One client that speaks its protocol inside WebSocket frames."""

    __slots__ = ("_at_end", "_hold", "_may_open", "_path", "_portions", "_websocket")

    def __init__(
        self, writer: Writer, gate_for: GateFor, protocol: ListenerProtocol, path: str, may_open: MayOpen
    ) -> None:
        super().__init__(writer, gate_for, protocol)
        self._path = path
        self._hold: Hold | None = None
        self._portions = Portions(writer.broker, _SMALL)
        self._at_end = False
        """Whether nothing more will come after what waits for its turn."""
        self._may_open = may_open
        limit = writer.broker.limits.packet_size + _FRAME_SLACK
        self._websocket = ServerProtocol(subprotocols=_SUBPROTOCOLS[protocol], max_size=limit)

    def new_outlet(self, transport: asyncio.Transport) -> TransportOutlet:
        return WebSocketOutlet(transport, self._writer, self._websocket)

    def take(self, data: bytes) -> None:
        if self._websocket.state is State.CONNECTING:
            data = data[self._take_request(data) :]
        self._portions.take(data, self)

    def _take_request(self, data: bytes) -> int:
        """Take what belongs to the request that opens the WebSocket; where that ends.

        What stands behind it is looked at when it has been answered, so it goes in line by line: were the frames
        refused before the request, there would be no way to answer it any more.
        """
        websocket, at = self._websocket, 0
        while websocket.state is State.CONNECTING and not websocket.eof_sent and at < len(data):
            end = data.find(b"\n", at) + 1 or len(data)
            self._receive(data[at:end])
            at = end
        return at

    def take_portion(self, data: bytes) -> bool:
        """Take what there is time for. What comes after the end is dropped by the library."""
        self._receive(data)
        return True

    def have_taken(self) -> None:
        """So much for this turn."""
        untaken = self._portions.waiting
        self._charge(len(self._websocket.reader.buffer) + sum(map(len, untaken or ())))
        self._send()
        self.outlet.check_unsent()  # pongs may be all that is written
        if self._websocket.close_expected():
            self.outlet.close()
        if self._at_end and untaken is None and not self.eof_received():
            self.outlet.close()

    def _receive(self, data: bytes) -> None:
        self._websocket.receive_data(data)
        for event in self._websocket.events_received():
            if isinstance(event, Request):
                self._shake_hands(event)
            elif isinstance(event, Frame):
                self._take_frame(self.outlet.connection, event)

    def _charge(self, size: int) -> None:
        """So many bytes of a frame, or of the handshake, wait for the rest of it."""
        if size < _WORTH_CHARGING:
            self._hold = None
            return
        if self._hold is None:
            assert self.outlet.account is not None
            self._hold = Hold(self.outlet.account)
        if not self._hold.set(size):
            self._websocket.reader.buffer.clear()
            self._websocket.fail(_TRY_AGAIN_LATER, "there is no memory for a frame that comes in parts")

    def eof_received(self) -> bool:
        self._at_end = self._portions.waiting is not None
        if not self._at_end:
            self._websocket.receive_eof()
            self._send()
        return self._at_end  # whether the transport is to stay open

    def connection_lost(self, exc: Exception | None) -> None:
        self._portions.drop()
        super().connection_lost(exc)

    def _send(self) -> None:
        assert isinstance(self.outlet, WebSocketOutlet)
        self.outlet.send_frames()

    def _shake_hands(self, request: Request) -> None:
        origins = request.headers.get_all("Origin")
        if request.path.partition("?")[0] != self._path:
            response = self._websocket.reject(404, f"{self._protocol.upper()} is at {self._path}\n")
        elif origins and not self._may_open(", ".join(origins), ", ".join(request.headers.get_all("Host"))):
            text = "This page may not use this server: list where it comes from in origins of the server's listener.\n"
            response = self._websocket.reject(403, text)
        else:
            response = self._websocket.accept(request)
        self._websocket.send_response(response)

    def _take_frame(self, connection: Conversation, frame: Frame) -> None:
        if frame.opcode in {Opcode.BINARY, Opcode.CONT}:
            if frame.data:
                connection.receive(bytes(frame.data))
        elif frame.opcode is Opcode.TEXT:
            self._websocket.fail(_UNSUPPORTED_DATA, f"{self._protocol.upper()} comes in binary frames")
