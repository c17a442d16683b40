"""A client session and a broker in memory, with a network between them that brings bytes when a test wants it."""

from typing import Any

from broker.clients import OpenAuthenticator, Scene
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.mqtt.connection import MqttConnection
from heliograph.mqtt import Connect
from heliograph.mqtt.client import ClientSession, Event


class Line:
    """One connection after the other; what is under way when one breaks is lost."""

    def __init__(self, scene: Scene, session: ClientSession) -> None:
        self.scene = scene
        self.session = session
        self._there = bytearray()
        self._back = bytearray()
        self._connection: MqttConnection | None = None

    def connect(self, connect: Connect) -> None:
        """A new connection; CONNECT is under way."""
        self.lose()
        self._outlet = Outlet()
        self._connection = MqttConnection(self.scene.broker, self._outlet, OpenAuthenticator())
        self.session.open(connect, self.scene.now)

    def lose(self) -> None:
        """The connection breaks, and both sides notice."""
        if self._connection is not None:
            self._connection.lost()
            self.scene.turn_ends()
        self._connection = None
        self._there.clear()
        self._back.clear()
        self.session.lost()

    def bring(self, most: int | None = None) -> bool:
        """Bring what the session has written, or only so many bytes, to the broker; whether there was anything."""
        if self._connection is None:
            return False
        self._there += self.session.take_output()
        data = bytes(self._there[:most])
        del self._there[:most]
        if data:
            self._connection.receive(data)
            self.scene.turn_ends()
        return bool(data)

    def fetch(self, most: int | None = None) -> list[Event]:
        """Bring what the broker has written, or only so many bytes, to the session; what it says to that."""
        if self._connection is None:
            return []
        chunks, self._outlet.chunks = self._outlet.chunks, []
        if chunks:
            self.scene.broker.turn.dirty.remove(self._outlet)
        self._back += b"".join(chunks)
        data = bytes(self._back[:most])
        del self._back[:most]
        return self.session.receive(data, self.scene.now) if data else []

    @property
    def idle(self) -> bool:
        """Nothing is under way."""
        return not (self._there or self._back or self.session.output or (self._connection and self._outlet.chunks))


def connect_packet(client_id: str, version: int, **properties: Any) -> Connect:
    """A CONNECT that keeps its session."""
    if version == 5:
        return Connect(client_id, 5, False, 0, properties={"session_expiry_interval": 86_400, **properties})  # type: ignore[typeddict-item]
    return Connect(client_id, version, False, 0)
