"""MQTT or AMQP in WebSocket frames, for browsers. The frames and the handshake are the `websockets` library's."""

from collections.abc import Callable
from contextlib import suppress

from websockets.exceptions import InvalidState
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from heliograph.broker import Conversation, Hold, Portions
from heliograph.server.config.schema import ListenerProtocol
from heliograph.server.network.layered import LayeredOutlet

_SUBPROTOCOLS = {
    # `mqttv3.1` is what clients of MQTT 3.1 ask for.
    ListenerProtocol.MQTT: [Subprotocol("mqtt"), Subprotocol("mqttv3.1")],
    ListenerProtocol.AMQP: [Subprotocol("amqp")],
}
_UNSUPPORTED_DATA = 1003
_NORMAL_CLOSURE = 1000
_TRY_AGAIN_LATER = 1013
# Bytes of an incomplete frame from which on they are charged to the client; less is part of a connection's base cost.
_WORTH_CHARGING = 4096
# Bytes that are parsed at once. The library makes an object for each frame, and a read may hold 40,000 small ones.
_SMALL = 4 << 10
# A frame may hold several packets; this much more than the largest packet is accepted in one.
_FRAME_SLACK = 1 << 20

MayOpen = Callable[[str, str], bool]
"""Whether a page of this origin may open a WebSocket; gets the headers Origin and Host."""


class WebSocket:
    """The layer of one client that speaks its protocol inside WebSocket frames."""

    __slots__ = ("_hold", "_may_open", "_path", "_portions", "_protocol", "_websocket", "outlet")

    def __init__(self, outlet: LayeredOutlet, protocol: ListenerProtocol, path: str, may_open: MayOpen) -> None:
        self.outlet = outlet
        self._protocol = protocol
        self._path = path
        self._may_open = may_open
        self._hold: Hold | None = None
        self._portions = Portions(outlet.broker, _SMALL)
        limit = outlet.broker.limits.packet_size + _FRAME_SLACK
        self._websocket = ServerProtocol(subprotocols=_SUBPROTOCOLS[protocol], max_size=limit)

    def in_frames(self, pieces: list[bytes | memoryview]) -> list[bytes | memoryview]:
        """These pieces as one binary frame, behind the control frames that wait to be sent."""
        websocket = self._websocket
        if pieces:
            with suppress(InvalidState):  # the closing handshake is under way
                websocket.send_binary(b"".join(pieces))
        if self.outlet.finished and websocket.state is State.OPEN:
            websocket.send_close(_NORMAL_CLOSURE)  # the client's own protocol has told why
        written = b"".join(websocket.data_to_send())
        return [written] if written else []

    def receive(self, data: bytes) -> None:
        """Bytes have come from below."""
        if self._websocket.state is State.CONNECTING:
            data = data[self._take_request(data) :]
        if len(data) <= _SMALL and self._portions.waiting is None:
            self._receive(data)
            self.have_taken()
        else:
            self._portions.take(data, self)

    def _take_request(self, data: bytes) -> int:
        """Take the request that opens the WebSocket; returns where it ends in `data`.

        The library gets it line by line, so that it does not parse frames behind the request before the request is
        answered: an invalid frame would close the connection without an answer.
        """
        websocket, at = self._websocket, 0
        while websocket.state is State.CONNECTING and not websocket.eof_sent and at < len(data):
            end = data.find(b"\n", at) + 1 or len(data)
            self._receive(data[at:end])
            at = end
        return at

    def take_portion(self, data: bytes) -> bool:
        """Parse one portion. The library drops what follows a close frame."""
        self._receive(data)
        return True

    def have_taken(self) -> None:
        """End a turn: charge incomplete frames, send control frames, and finish if the WebSocket is closing."""
        websocket = self._websocket
        self._charge(len(websocket.reader.buffer) + sum(map(len, self._portions.waiting or ())))
        if websocket.writes:  # a pong, or the answer to the request
            self.outlet.speak()
        if websocket.close_expected():
            self.outlet.finish()

    def _receive(self, data: bytes) -> None:
        self._websocket.receive_data(data)
        for event in self._websocket.events_received():
            if isinstance(event, Request):
                self._shake_hands(event)
            elif isinstance(event, Frame):
                self._take_frame(self.outlet.connection, event)

    def _charge(self, size: int) -> None:
        """Charge the bytes of an incomplete frame or request to the client; close the WebSocket if memory is short."""
        if size < _WORTH_CHARGING:
            self._hold = None
            return
        if self._hold is None:
            assert self.outlet.account is not None
            self._hold = Hold(self.outlet.account)
        if not self._hold.set(size):
            self._websocket.reader.buffer.clear()
            self._websocket.fail(_TRY_AGAIN_LATER, "there is no memory for a frame that comes in parts")

    def drop(self) -> None:
        """The client has gone."""
        self._portions.drop()
        self._hold = None
        self._websocket.parser.close()  # breaks a reference cycle

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
