"""Messages that are large in an unusual way, and whoever has to look into them."""

import pytest

from faults.amqp_peer import AmqpPeer, sender_to
from heliograph.amqp import Accepted, Rejected
from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.codec.performatives import Disposition, Transfer
from heliograph.amqp.messages.message import Message, Sequence, Value, encode_message
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


NULL_BODY = b"\x00\x53\x77\x40"
DESCRIPTIONS = b"\x00\x40" * 4 * MANY
DESCRIBED = b"\x00\x53\x74\xd1" + (7 + len(DESCRIPTIONS)).to_bytes(4) + b"\0\0\0\x02\xa1\x00" + DESCRIPTIONS + b"\x40"
"""Application properties, of which one has very many descriptions."""
LONG_HEADER = b"\x00\x53\x70" + encode(list(range(MANY)))
LONG_BODY = b"\x00\x80" + (0x77).to_bytes(8) + encode(list(range(MANY)))
"""Of a value whose descriptor is longer than needed."""


@pytest.mark.parametrize("kind", [Sequence, Value])
def test_bodies_of_very_many_items_for_mqtt_and_back(server: RunningServer, kind: type[Sequence | Value]) -> None:
    body = encode_message(Message(kind(list(range(MANY)))))
    with (
        connect(server.url("amqp")) as connection,
        connection.session() as session,
        PlainClient(server.port).connected("both ways") as client,
    ):
        consumer = session.consumer("topic://back")
        client.subscribe("t")
        with bystander(server), AmqpPeer(server.port_of("amqp")).opened(sender_to("topic://t")) as peer:
            assert isinstance(sent(peer, 0, body), Accepted)
            message = client.receive()
            assert isinstance(message, Publish)
            assert message.payload == body
            client.send(Publish("back", message.payload, properties=message.properties))
            back = consumer.receive(timeout=PATIENCE)
        assert back is not None
        assert back.body == list(range(MANY))


@pytest.mark.parametrize(
    ("message", "is_taken"),
    [
        (b"\x00\x53\x75\xa0\x00" * MANY, False),
        (b"\x00\x53\x76\x45" * MANY, False),
        (b"\x00\x53\x77" + b"\x00\x40" * MANY + b"\x40", False),
        (b"\x00\x53\x71\x45" * MANY + NULL_BODY, False),
        (LONG_BODY, True),
    ],
    ids=["data", "sequences", "descriptions", "annotations", "long descriptor"],
)
def test_messages_of_very_many_pieces_for_mqtt(server: RunningServer, message: bytes, is_taken: bool) -> None:
    with PlainClient(server.port).connected("subscriber") as subscriber:
        subscriber.subscribe("t")
        with bystander(server), AmqpPeer(server.port_of("amqp")).opened(sender_to("topic://t")) as peer:
            assert isinstance(sent(peer, 0, message), Accepted if is_taken else Rejected)
            assert isinstance(sent(peer, 1, NULL_BODY), Accepted)


@pytest.mark.parametrize(
    ("message", "is_taken"),
    [
        (b"\x00\x53\x71\x45" * MANY + NULL_BODY, True),
        (LONG_HEADER + NULL_BODY, False),
        (DESCRIBED + NULL_BODY, True),
        (LONG_BODY, True),
    ],
    ids=["annotations", "header", "descriptions", "long descriptor"],
)
def test_messages_of_very_many_pieces_for_a_queue(server: RunningServer, message: bytes, is_taken: bool) -> None:
    with connect(server.url("amqp")) as connection, connection.session() as session:
        consumer = session.consumer("q", selector="colour = 'red'")
        red = encode_message(Message(Value("x"), application_properties={"colour": "red"}))
        with bystander(server), AmqpPeer(server.port_of("amqp")).opened(sender_to("q")) as peer:
            assert isinstance(sent(peer, 0, message), Accepted if is_taken else Rejected)
            assert isinstance(sent(peer, 1, red), Accepted)
            assert consumer.receive(timeout=PATIENCE) is not None


def test_very_many_user_properties(server: RunningServer) -> None:
    def publish(client: PlainClient, number: int) -> None:
        properties = {"user_property": [(f"k{index}", "v") for index in range(number)]}
        client.send(Publish("t", b"x", qos=1, packet_id=1, properties=properties))

    with bystander(server), PlainClient(server.port).connected("publisher") as publisher:
        publish(publisher, MOST)
        assert isinstance(publisher.receive(), PubAck)
        publish(publisher, MANY)
        assert publisher.goodbye().reason == Reason.QUOTA_EXCEEDED
