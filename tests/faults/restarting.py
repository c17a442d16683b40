"""A server that is restarted in the middle of a test, and what clients of such a test say again and again."""

import select
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from faults.brokers import Heliograph
from heliograph.mqtt import (
    ConnAck,
    Disconnect,
    PubAck,
    PubComp,
    Publish,
    PubRec,
    PubRel,
    SubAck,
    Subscribe,
    Subscription,
)
from plain_client import PlainClient

HOUR = 3600
A_MOMENT = 0.1
"""Seconds in which what the server has ready is here."""


class RestartingServer:
    """Our server with storage, and the clients of a test, which are closed at its end."""

    def __init__(self, folder: Path, *, killed: bool) -> None:
        self._killed = killed
        self._broker = Heliograph(folder)
        self._broker.start()
        self._clients = ExitStack()

    @property
    def port(self) -> int:
        return self._broker.port

    def restart(self) -> None:
        """SIGTERM or SIGKILL, as the test is run, and a new process on the same data."""
        self.end()
        self.start()

    def end(self) -> None:
        if self._killed:
            self._broker.kill()
        else:
            self._broker.stop()

    def start(self) -> None:
        self._broker.start()

    def close(self) -> None:
        self._clients.close()
        self._broker.kill()

    def client(self, name: str = "", version: int = 5, *, clean: bool = False, **more: Any) -> "Client":
        """A client that has connected, with a session that lasts; `more` are fields of CONNECT."""
        client = self._clients.enter_context(Client(self.port, version))
        lasts = {"session_expiry_interval": HOUR} if version == 5 and name else {}
        lasts |= more.pop("properties", {})
        client.admitted = client.connect(name, clean_start=clean or not name, properties=lasts, **more)
        assert client.admitted.reason == 0
        return client

    def publish(self, topic: str, payload: bytes, qos: int = 1, **more: Any) -> None:
        """Publish as somebody else, and see it acknowledged."""
        client = self.client()
        client.hand_over(topic, payload, qos, **more)
        client.close()

    def settle(self) -> None:
        """Have everything on disk that the server has been told: what is acknowledged is, and all before it."""
        self.publish("settled", b"yes", retain=True)


class Client(PlainClient):
    """A client that speaks packet by packet, with words for what these tests say often."""

    admitted: ConnAck

    @property
    def session_present(self) -> bool:
        return self.admitted.session_present

    def asks_for(self, topics: str, qos: int = 2, *, properties: Any = None, **options: Any) -> None:
        """Subscribe with options, and see it granted."""
        self.send(Subscribe(1, (Subscription(topics, qos, **options),), properties or {}))
        answer = self.receive()
        assert isinstance(answer, SubAck)
        assert answer.reasons == (qos,)

    def hand_over(self, topic: str, payload: bytes, qos: int = 1, *, packet_id: int = 1, **more: Any) -> None:
        """Publish until the server has acknowledged it all."""
        self.send(Publish(topic, payload, qos, packet_id=packet_id, **more))
        if qos == 1:
            self.hears(PubAck, packet_id)
        else:
            self.hears(PubRec, packet_id)
            self.send(PubRel(packet_id))
            self.hears(PubComp, packet_id)

    def hears(self, kind: type[PubAck | PubRec | PubRel | PubComp], packet_id: int) -> None:
        """The next packet is of this kind, for this identifier, and says that all is well."""
        packet = self.receive()
        assert isinstance(packet, kind), packet
        assert packet.packet_id == packet_id
        assert packet.reason < 0x80

    def message(self) -> Publish:
        """The next packet, which must be a message; it stays unacknowledged."""
        packet = self.receive()
        assert isinstance(packet, Publish), packet
        return packet

    def takes(self, count: int = 1) -> list[Publish]:
        """The next messages, with all acknowledgements; no more of them may come than that."""
        taken: list[Publish] = []
        unreleased: set[int] = set()
        while len(taken) < count or unreleased:
            match packet := self.receive():
                case Publish(qos=qos):
                    taken.append(packet)
                    if qos == 1:
                        self.send(PubAck(packet.packet_id))
                    elif qos == 2:
                        unreleased.add(packet.packet_id)
                        self.send(PubRec(packet.packet_id))
                case PubRel(packet_id):
                    unreleased.discard(packet_id)
                    self.send(PubComp(packet_id))
        assert len(taken) == count, taken
        return taken

    def gets_only(self, *payloads: bytes) -> None:
        """These messages come, in this order, and after them nothing but what is published now."""
        assert [one.payload for one in self.takes(len(payloads))] == list(payloads)
        self.asks_for("is/this/all")
        self.hand_over_to_oneself("is/this/all", b"yes")

    def hand_over_to_oneself(self, topic: str, payload: bytes) -> None:
        """Publish with QoS 0 and get it back: all that the server had for this client came before it."""
        self.send(Publish(topic, payload))
        message = self.message()
        assert (message.topic, message.payload) == (topic, payload)

    def has_something(self) -> bool:
        """Whether a packet is there already, or comes within a moment."""
        return bool(self._received) or bool(select.select([self.socket], [], [], A_MOMENT)[0])

    def leave(self, **properties: Any) -> None:
        """Say goodbye, and wait until the server has heard it."""
        self.send(Disconnect(properties=properties))
        assert self.is_closed()
        self.close()
