"""An AMQP peer made of frames, on a real socket: it can do what no client would."""

import socket
from types import TracebackType
from typing import Any, Self

from heliograph.amqp import Source, Target
from heliograph.amqp.codec.composite import Fields, resolve
from heliograph.amqp.codec.decoding import decode
from heliograph.amqp.codec.frames import AMQP_HEADER, SASL_HEADER, amqp_frame, sasl_frame
from heliograph.amqp.codec.performatives import Attach, Begin, Close, Open, SaslInit
from running import PATIENCE

GREETING = SASL_HEADER + sasl_frame(SaslInit("ANONYMOUS").encoded()) + AMQP_HEADER
"""All that comes before the first frame."""
WINDOW = 1 << 30


def frames(*performatives: Fields, channel: int = 0, payload: bytes = b"") -> bytes:
    """Performatives as they go over the wire, each with the same payload."""
    return b"".join(amqp_frame(channel, one.encoded() + payload) for one in performatives)


def begin() -> Begin:
    return Begin(None, 0, WINDOW, WINDOW)


def sender_to(queue: str, handle: int = 0) -> Attach:
    """A link on which the peer sends."""
    return Attach(f"to-{handle}", handle, False, source=Source(), target=Target(queue), initial_delivery_count=0)


def receiver_from(queue: str, handle: int = 0) -> Attach:
    """A link on which the peer receives."""
    return Attach(f"from-{handle}", handle, True, source=Source(queue), target=Target())


class AmqpPeer:
    """One connection, blocking; everything it waits for has a time limit."""

    def __init__(self, port: int, *, receive_buffer: int = 0) -> None:
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", port))
        self._received = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def opened(self, *performatives: Fields, **more: Any) -> Self:
        """Connect, begin a session and send these frames; the server has answered the first two."""
        self.send_bytes(GREETING)
        self.send(Open("hostile", **more), begin(), *performatives)
        self.wait_for(Begin)
        return self

    def send(self, *performatives: Fields, channel: int = 0, payload: bytes = b"") -> None:
        self.send_bytes(frames(*performatives, channel=channel, payload=payload))

    def send_bytes(self, data: bytes) -> None:
        self.socket.sendall(data)

    def wait_for(self, kind: type[Fields]) -> Any:
        """The next performative of this kind; others are passed over. ConnectionError if none comes any more."""
        while True:
            frame = self._next_frame()
            if isinstance(frame, kind):
                return frame

    def _next_frame(self) -> object:
        while True:
            self._read(8)
            if self._received.startswith(b"AMQP"):
                self._received = self._received[8:]
                continue
            size = int.from_bytes(self._received[:4], "big")
            self._read(size)
            body, self._received = self._received[8:size], self._received[size:]
            if body:
                return resolve(decode(body)[0])

    def _read(self, size: int) -> None:
        while len(self._received) < size:
            more = self.socket.recv(1 << 18)
            if not more:
                raise ConnectionError("the server closed the connection")
            self._received += more

    def condition(self) -> str:
        """Why the server closes the connection, which it has to do."""
        error = self.wait_for(Close).error
        assert self.is_closed()
        return str(error.condition)

    def is_closed(self) -> bool:
        """Whether the server ends the connection; waits for it, and passes over what comes before that."""
        try:
            while self.socket.recv(1 << 18):
                pass
        except TimeoutError:
            return False
        except ConnectionError:
            pass
        return True
