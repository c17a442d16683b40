"""Messages that are large in an unusual way, and whoever has to look into them."""

import pytest

from faults.amqp_peer import AmqpPeer, sender_to
from heliograph.amqp import Accepted, Rejected
from heliograph.amqp.message import Message, Value, encode_message
from heliograph.amqp.performatives import Disposition, Transfer
from heliograph.client import connect
from heliograph.mqtt import PubAck, Publish, Reason
from hostile.stalling import CONFIG, bystander
from plain_client import PlainClient
from running import PATIENCE, RunningServer, Serve

MOST = 1000
"""Properties that a message may have."""
MANY = 200_000
_FRAME = 50_000


@pytest.fixture
def server(serve: Serve) -> RunningServer:
    return serve(CONFIG)


def sent(peer: AmqpPeer, number: int, message: bytes) -> object:
    """Send a message in as many frames as it takes; what the server says of it."""
    parts = [message[at : at + _FRAME] for at in range(0, len(message), _FRAME)]
    for part in parts[:-1]:
        peer.send(Transfer(0, number, b"%d" % number, more=True), payload=part)
    peer.send(Transfer(0, number, b"%d" % number), payload=parts[-1])
    return peer.wait_for(Disposition).state


def with_properties(number: int) -> bytes:
    return encode_message(Message(Value("x"), application_properties={f"k{index}": index for index in range(number)}))


def with_annotations(number: int) -> bytes:
    annotations = {f"x-opt-delivery-{index}": index for index in range(number)}
    return encode_message(Message(Value("x"), message_annotations=annotations))


def test_a_selector_looks_at_messages_with_very_many_properties(server: RunningServer) -> None:
    with connect(server.url("amqp")) as connection, connection.session() as session:
        consumer = session.consumer("q", selector=f"k{MOST - 1} = {MOST - 1}")
        with bystander(server), AmqpPeer(server.port_of("amqp")).opened(sender_to("q")) as peer:
            for number, message in enumerate([with_properties(MANY), with_properties(MOST + 1)]):
                state = sent(peer, number, message)
                assert isinstance(state, Rejected)
                assert "application properties" in str(state.error)
            assert isinstance(sent(peer, 2, with_properties(MOST)), Accepted)
        message = consumer.receive(timeout=PATIENCE)
        assert message is not None
        assert len(message.properties) == MOST


def test_messages_with_very_many_annotations(server: RunningServer) -> None:
    with bystander(server), AmqpPeer(server.port_of("amqp")).opened(sender_to("q")) as peer:
        assert isinstance(sent(peer, 0, with_annotations(MANY // 4)), Rejected)
        assert isinstance(sent(peer, 1, with_annotations(10)), Accepted)


def test_very_many_properties_for_mqtt(server: RunningServer) -> None:
    with PlainClient(server.port).connected("subscriber") as subscriber:
        subscriber.subscribe("t")
        with bystander(server), AmqpPeer(server.port_of("amqp")).opened(sender_to("topic://t")) as peer:
            assert isinstance(sent(peer, 0, with_properties(MANY)), Rejected)
            assert isinstance(sent(peer, 1, with_properties(MOST)), Accepted)
        message = subscriber.receive()
        assert isinstance(message, Publish)
        assert len(message.properties["user_property"]) == MOST


def test_very_many_user_properties(server: RunningServer) -> None:
    def publish(client: PlainClient, number: int) -> None:
        properties = {"user_property": [(f"k{index}", "v") for index in range(number)]}
        client.send(Publish("t", b"x", qos=1, packet_id=1, properties=properties))

    with bystander(server), PlainClient(server.port).connected("publisher") as publisher:
        publish(publisher, MOST)
        assert isinstance(publisher.receive(), PubAck)
        publish(publisher, MANY)
        assert publisher.goodbye().reason == Reason.QUOTA_EXCEEDED
