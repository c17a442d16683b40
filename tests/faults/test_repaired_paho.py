"""What paho does with a QoS 2 message after PUBREC when it has to try twice to connect again."""

import socket

import paho.mqtt.client as paho
import pytest

from faults.repaired_paho import RepairedPaho
from heliograph.mqtt import ConnAck, Packet, Publish, PubRec, PubRel
from plain_client import PlainClient
from running import PATIENCE


class ScriptedServer:
    """A listening socket whose end of a connection the test plays."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(PATIENCE)
        self.port = self._listening.getsockname()[1]

    def accept(self) -> PlainClient:
        connection, _ = self._listening.accept()
        connection.settimeout(PATIENCE)
        return PlainClient(connection, 4)

    def close(self) -> None:
        self._listening.close()


def first_packet_after_two_attempts(kind: type[paho.Client]) -> Packet:
    """What the client sends for a message that had got as far as PUBREC, once it has connected again."""
    server = ScriptedServer()
    client = kind(paho.CallbackAPIVersion.VERSION2, "c", clean_session=False, reconnect_on_failure=False)
    try:
        client.connect("127.0.0.1", server.port)
        with server.accept() as connection:
            connection.receive()
            connection.send(ConnAck())
            client.loop(PATIENCE)
            client.publish("a", b"once", 2)
            assert isinstance(connection.receive(), Publish)
            connection.send(PubRec(1))
            client.loop(PATIENCE)
            assert connection.receive() == PubRel(1)
        client.reconnect()
        server.accept().close()  # no CONNACK: this attempt has failed
        client.reconnect()
        with server.accept() as connection:
            connection.receive()
            connection.send(ConnAck(session_present=True))
            client.loop(PATIENCE)
            return connection.receive()
    finally:
        client.disconnect()
        server.close()


@pytest.mark.parametrize(("kind", "sent"), [(RepairedPaho, PubRel), (paho.Client, Publish)])
def test_a_message_that_the_server_has_taken_is_released_not_published_again(
    kind: type[paho.Client], sent: type[Packet]
) -> None:
    assert isinstance(first_packet_after_two_attempts(kind), sent)
