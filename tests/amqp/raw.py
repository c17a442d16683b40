"""A peer made of frames, which may do what no engine would: it talks to a server's engine."""

from typing import Any

from amqp.pair import Side
from heliograph.amqp import Closed, Options, Receiver, Sender, Source, Target
from heliograph.amqp.codec.composite import Fields, resolve
from heliograph.amqp.codec.decoding import decode
from heliograph.amqp.codec.frames import AMQP_HEADER, amqp_frame
from heliograph.amqp.codec.performatives import Attach, Begin, Close, Detach, End, Open
from heliograph.amqp.engine.link import Attached


class Raw:
    """The frames it sends, and those that come back."""

    def __init__(self, options: Options | None = None) -> None:
        self.side = Side(options or Options("server", mechanisms=()), server=True)
        self.got: list[tuple[int, Any, bytes]] = []
        self.feed(AMQP_HEADER)

    def feed(self, data: bytes) -> None:
        self.side.handle(self.side.connection.receive(data, 0.0))
        self.look()

    def send(self, *frames: Fields, channel: int = 0, payload: bytes = b"") -> None:
        self.feed(b"".join(amqp_frame(channel, frame.encoded() + payload) for frame in frames))

    def look(self) -> None:
        """Read what the server has to say."""
        data = self.side.take_output()
        at = 0
        while at < len(data):
            if data.startswith(b"AMQP", at):
                at += 8
                continue
            end = at + int.from_bytes(data[at : at + 4], "big")
            body = data[at + 8 : end]
            if body:
                value, length = decode(body)
                self.got.append((int.from_bytes(data[at + 6 : at + 8], "big"), resolve(value), body[length:]))
            at = end

    def of(self, kind: type) -> list[Any]:
        return [frame for _, frame, _ in self.got if isinstance(frame, kind)]

    def closed(self) -> str:
        """The condition with which the connection was closed."""
        (close,) = self.of(Close)
        assert self.side.last(Closed).error == close.error
        assert self.side.connection.gone
        return str(close.error.condition)

    def ended(self) -> str:
        """The condition with which the session was ended."""
        (end,) = self.of(End)
        assert not self.of(Close)
        return str(end.error.condition)

    def detached(self) -> str:
        """The condition with which the link was detached."""
        (detach,) = self.of(Detach)
        assert not self.of(End)
        return str(detach.error.condition)


def opened(**open_fields: Any) -> Raw:
    raw = Raw()
    raw.send(Open("raw", **open_fields))
    return raw


def begun() -> Raw:
    raw = opened()
    raw.send(Begin(None, 0, 1000, 1000))
    return raw


def attach_sender(name: str = "to", handle: int = 0, **fields: Any) -> Attach:
    return Attach(name, handle, False, source=Source(), target=Target("q"), **{"initial_delivery_count": 0, **fields})


def attach_receiver(name: str = "from", handle: int = 0, **fields: Any) -> Attach:
    return Attach(name, handle, True, source=Source("q"), target=Target(), **fields)


def sending(credit: int = 10) -> tuple[Raw, Receiver]:
    """With a link on which the raw peer sends, and the server's end of it."""
    raw = begun()
    raw.send(attach_sender())
    link = raw.side.last(Attached).link
    assert isinstance(link, Receiver)
    link.flow(credit)
    raw.look()
    return raw, link


def receiving() -> tuple[Raw, Sender]:
    """With a link on which the raw peer receives, and the server's end of it."""
    raw = begun()
    raw.send(attach_receiver())
    link = raw.side.last(Attached).link
    assert isinstance(link, Sender)
    return raw, link
