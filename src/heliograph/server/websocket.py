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
# The library makes an object for each frame of a read: a read of tiny ones is taken in parts of so many bytes.
_TAKEN_AT_ONCE = 16 << 10
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
        for piece in self.websocket.data_to_send():
            if piece:
                self.transport.write(piece)
            elif self.transport.can_write_eof():
                with suppress(OSError):  # the client has gone already
                    self.transport.write_eof()

    def close(self) -> None:
        if self.websocket.state is State.OPEN:
            self.websocket.send_close(_NORMAL_CLOSURE)  # the client's own protocol has told why
            self.send_frames()
        super().close()


class WebSocketClient(TransportClient):
    """One client that speaks its protocol inside WebSocket frames."""

    __slots__ = ("_hold", "_may_open", "_path", "_websocket")

    def __init__(
        self, writer: Writer, gate_for: GateFor, protocol: ListenerProtocol, path: str, may_open: MayOpen
    ) -> None:
        super().__init__(writer, gate_for, protocol)
        self._path = path
        self._hold: Hold | None = None
        self._may_open = may_open
        limit = writer.broker.limits.packet_size + _FRAME_SLACK
        self._websocket = ServerProtocol(subprotocols=_SUBPROTOCOLS[protocol], max_size=limit)

    def new_outlet(self, transport: asyncio.Transport) -> TransportOutlet:
        return WebSocketOutlet(transport, self._writer, self._websocket)

    def take(self, data: bytes) -> None:
        websocket, at = self._websocket, 0
        # What stands behind the request is looked at when that has been answered, so it goes in line by line: were the
        # frames refused before the request, there would be no way to answer it any more.
        while websocket.state is State.CONNECTING and not websocket.eof_sent and at < len(data):
            end = data.find(b"\n", at) + 1 or len(data)
            self._receive(data[at:end])
            at = end
        for start in range(at, len(data), _TAKEN_AT_ONCE):
            self._receive(data[start : start + _TAKEN_AT_ONCE])
        self._charge(len(websocket.reader.buffer))
        self._send()
        self.outlet.check_unsent()  # pongs may be all that is written
        if websocket.close_expected():
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

    def eof_received(self) -> None:
        self._websocket.receive_eof()
        self._send()

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
