"""A server by hand for client sessions: it sends what a test wants, and looks at what the session has written."""

from typing import Any

from heliograph.mqtt import ConnAck, Connect, Packet, decode, encode, packet_bounds
from heliograph.mqtt.client import ClientSession, Event


class Peer:
    """The other end of a session's connections, with a clock."""

    def __init__(self, version: int = 5, **options: Any) -> None:
        self.version = version
        self.now = 1000.0
        self.session = ClientSession(**options)

    def open(self, *, clean: bool = False, keep_alive: int = 0, **properties: Any) -> Packet:
        """The session has a new network connection; its CONNECT."""
        connect = Connect("me", self.version, clean, keep_alive, properties=properties)  # type: ignore[arg-type]
        self.session.open(connect, self.now)
        (packet,) = self.written()
        return packet

    def connect(self, *, present: bool = False, told: dict[str, Any] | None = None, **options: Any) -> list[Event]:
        """A new connection, which the server takes; what the session says to that."""
        self.open(**options)
        return self.send(ConnAck(present, 0, told or {}))  # type: ignore[arg-type]

    def send(self, *packets: Packet) -> list[Event]:
        """The server sends these in one piece; what the session says."""
        return self.send_bytes(b"".join(encode(packet, self.version) for packet in packets))

    def send_bytes(self, data: bytes) -> list[Event]:
        return self.session.receive(data, self.now)

    def written(self) -> list[Packet]:
        """What the session has written since the last time."""
        return packets_of(self.session.take_output(), self.version)


def packets_of(data: bytes, version: int) -> list[Packet]:
    """The packets that fill `data` exactly."""
    found, pos = [], 0
    while pos < len(data):
        bounds = packet_bounds(data, pos, 1 << 28, version)
        assert bounds is not None
        start, end = bounds
        assert end <= len(data)
        found.append(decode(data[pos], data[start:end], version))
        pos = end
    return found
