"""What one client sends and another receives: Proton, rhea, our own client, and MQTT clients."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest

from interop.amqp_letters import Letter, Terminus
from interop.amqp_peers import PeerConnection, connecting, got, take
from interop.own_peer import Own
from interop.proton_peer import Proton
from interop.rhea_peer import Rhea
from paho_client import PahoClient
from running import PATIENCE, RunningServer

CLIENTS = ("proton", "rhea", "own")
Trade = Callable[[str], Any]


class Foreign:
    """A client of others, with the few words that tests here need."""

    def __init__(self, connection: PeerConnection) -> None:
        self.connection = connection

    def send(self, queue: str, letter: Letter) -> None:
        assert self.connection.sender(queue).send(letter).outcome == "accepted"

    def take(self, queue: str) -> Letter:
        receiver = self.connection.receiver(queue, credit=1)
        letter = take(receiver)
        receiver.close()
        return letter


@pytest.fixture
def client(amqp_server: RunningServer, proton: Proton, rhea: Rhea) -> Iterator[Trade]:
    """A client by name."""
    port = amqp_server.port_of("amqp")
    with connecting(proton, port) as with_proton, connecting(rhea, port) as with_rhea, Own(port) as own:
        made = {"proton": lambda: Foreign(with_proton()), "rhea": lambda: Foreign(with_rhea()), "own": lambda: own}
        yield lambda name: made[name]()


@pytest.mark.parametrize("receives", CLIENTS)
@pytest.mark.parametrize("sends", CLIENTS)
@pytest.mark.parametrize("durable", [True, False])
def test_a_message_comes_as_it_was_sent(client: Trade, queue: str, sends: str, receives: str, durable: bool) -> None:
    bodies = ["text ü€😀", b"\x00\xff" * 500, {"a": 1, "b": [True, None, "x"], "c": 2.5}, [1, "two", 3.5], ""]
    sender, receiver = client(sends), client(receives)
    for body in bodies:
        sent = Letter(
            body,
            durable=durable,
            priority=7,
            subject="kind",
            correlation_id="c-1",
            reply_to="queue://answers",
            group_id="g",
            group_sequence=3,
            content_type="text/x" if isinstance(body, bytes) else None,
            properties={"text": "ü", "number": 12, "negative": -5, "yes": True, "half": 0.5},
        )
        if sends == "own":
            sent.reply_to = "answers"
        sender.send(queue, sent)
        found = receiver.take(queue)
        assert found.body == body
        for name in ("durable", "priority", "subject", "correlation_id", "group_id", "group_sequence", "properties"):
            assert getattr(found, name) == getattr(sent, name), name
        assert (found.reply_to or "").removeprefix("queue://") == "answers"
        if isinstance(body, bytes):
            assert found.content_type == "text/x"


@pytest.mark.parametrize("sends", ["proton", "rhea"])
@pytest.mark.parametrize("receives", ["proton", "rhea"])
@pytest.mark.parametrize("identifier", ["text", 123456789012, UUID(int=2**127 + 5)], ids=["text", "number", "uuid"])
def test_identifiers_keep_their_types(client: Trade, queue: str, sends: str, receives: str, identifier: Any) -> None:
    client(sends).send(queue, Letter("x", message_id=identifier, correlation_id=identifier))
    found = client(receives).take(queue)
    expected = identifier.bytes if isinstance(identifier, UUID) and receives == "rhea" else identifier
    assert (found.message_id, found.correlation_id) == (expected, expected)


@pytest.mark.parametrize(("asks", "answers"), [("proton", "rhea"), ("rhea", "proton")])
def test_requests_and_replies(client: Trade, queue: str, asks: str, answers: str) -> None:
    asking, answering = client(asks).connection, client(answers).connection
    replies = asking.receiver(Terminus(None, dynamic=True))
    service, relay = answering.receiver(queue), answering.sender(None)
    asking.sender(queue).send(Letter("ping", reply_to=replies.address, correlation_id="1"))
    request = take(service)
    relay.send(Letter("pong", to=request.reply_to, correlation_id=request.correlation_id))
    reply = take(replies)
    assert (reply.body, reply.correlation_id) == ("pong", "1")


@pytest.mark.parametrize("answers", ["proton", "rhea"])
def test_requests_of_our_own_client(client: Trade, queue: str, answers: str) -> None:
    own, connection = client("own"), client(answers).connection
    temporary = own.session.temporary_queue()
    own.send(queue, Letter("ping", reply_to=temporary.name, correlation_id="1"))
    request = take(connection.receiver(queue))
    assert connection.sender(None).send(Letter("pong", to=request.reply_to, correlation_id="1")).outcome == "accepted"
    assert own.take(temporary).body == "pong"


@pytest.mark.parametrize("asks", ["proton", "rhea"])
def test_our_own_client_answers_to_a_topic(client: Trade, queue: str, asks: str) -> None:
    own, connection = client("own"), client(asks).connection
    replies = connection.receiver(f"topic://{queue}/answers")
    connection.sender(queue).send(Letter("ping", reply_to=f"topic://{queue}/answers"))
    with own.session.consumer(queue) as consumer:
        request = consumer.receive(PATIENCE)
    own.session.producer(request.reply_to).send("pong")
    assert take(replies).body == "pong"


@pytest.mark.parametrize(("first", "second"), [("proton", "rhea"), ("rhea", "proton")])
def test_transactions_of_one_on_what_another_sent(client: Trade, queue: str, first: str, second: str) -> None:
    one, other, own = client(first).connection, client(second).connection, client("own")
    coordinator = one.coordinator()
    txn = coordinator.declare()
    one.sender(queue).send(Letter("work", durable=True), txn=txn)
    coordinator.discharge(txn)
    theirs = other.coordinator()
    txn = theirs.declare()
    receiver = other.receiver(queue, credit=1)
    got(receiver).settle(txn=txn)
    theirs.discharge(txn, fail=True)
    receiver.close()
    letter = own.take(queue)
    assert (letter.body, letter.delivery_count) == ("work", 1)


# MQTT


@pytest.fixture
def mqtt(amqp_server: RunningServer) -> Iterator[PahoClient]:
    with PahoClient().connect(amqp_server.port) as paho:
        yield paho


@pytest.mark.parametrize("receives", ["proton", "rhea"])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_from_mqtt_to_amqp(client: Trade, mqtt: PahoClient, topic: str, receives: str, qos: int) -> None:
    receiver = client(receives).connection.receiver(f"topic://{topic}/#")
    mqtt.publish(
        f"{topic}/x",
        b"\x01\x02",
        qos,
        UserProperty=[("colour", "red")],
        ContentType="text/x",
        ResponseTopic=f"{topic}/answers",
        CorrelationData=b"corr",
        MessageExpiryInterval=60,
    )
    letter = take(receiver)
    assert (letter.body, letter.durable, letter.to) == (b"\x01\x02", qos > 0, f"topic://{topic}/x")
    assert (letter.reply_to, letter.correlation_id) == (f"topic://{topic}/answers", "corr")
    assert (letter.properties, letter.content_type) == ({"colour": "red"}, "text/x")
    assert 0 < (letter.ttl or 0) <= 60_000


@pytest.mark.parametrize("sends", ["proton", "rhea"])
@pytest.mark.parametrize("durable", [True, False])
def test_from_amqp_to_mqtt(client: Trade, mqtt: PahoClient, topic: str, sends: str, durable: bool) -> None:
    mqtt.subscribe(f"{topic}/#", 2)
    sender = client(sends).connection.sender(Terminus(f"{topic}/x", ("topic",)))
    letter = Letter("text ü", durable=durable, properties={"colour": "red", "size": 3, "yes": True}, subject="kind")
    letter.reply_to, letter.correlation_id, letter.ttl = f"topic://{topic}/answers", "corr", 60_000
    assert sender.send(letter).outcome == "accepted"
    message = mqtt.message()
    assert (message.topic, message.payload, message.qos) == (f"{topic}/x", "text ü".encode(), int(durable))
    told = message.properties
    assert set(told.UserProperty) >= {("colour", "red"), ("size", "3"), ("yes", "true"), ("amqp.subject", "kind")}
    assert (told.ResponseTopic, told.CorrelationData) == (f"{topic}/answers", b"corr")
    assert 0 < told.MessageExpiryInterval <= 60


@pytest.mark.parametrize("sends", ["proton", "rhea"])
def test_what_amqp_publishes_in_a_transaction_reaches_mqtt_after_the_commit(
    client: Trade, mqtt: PahoClient, topic: str, sends: str
) -> None:
    mqtt.subscribe(topic, 1)
    connection = client(sends).connection
    coordinator, sender = connection.coordinator(), connection.sender(Terminus(topic, ("topic",)))
    for number, fail in enumerate((True, False)):
        txn = coordinator.declare()
        sender.send(Letter(str(number), durable=True), txn=txn)
        coordinator.discharge(txn, fail=fail)
    assert mqtt.message().payload == b"1"


@pytest.mark.parametrize("answers", ["proton", "rhea"])
def test_an_mqtt_client_asks_and_an_amqp_client_answers(
    client: Trade, mqtt: PahoClient, topic: str, answers: str
) -> None:
    connection = client(answers).connection
    service, relay = connection.receiver(f"topic://{topic}/ask"), connection.sender(None)
    mqtt.subscribe(f"{topic}/answers", 1)
    mqtt.publish(f"{topic}/ask", b"ping", 1, ResponseTopic=f"{topic}/answers", CorrelationData=b"\xff\x00")
    request = take(service)
    answer = Letter("pong", to=request.reply_to, correlation_id=request.correlation_id, durable=True)
    assert relay.send(answer).outcome == "accepted"
    message = mqtt.message()
    assert (message.payload, message.properties.CorrelationData) == (b"pong", b"\xff\x00")


@pytest.mark.parametrize("receives", ["proton", "rhea"])
def test_what_is_retained_comes_first(client: Trade, mqtt: PahoClient, topic: str, receives: str) -> None:
    mqtt.publish(topic, b"kept", 1, retain=True)
    receiver = client(receives).connection.receiver(f"topic://{topic}")
    letter = take(receiver)
    assert (letter.body, letter.annotations["x-opt-retain-message"]) == (b"kept", True)
    mqtt.publish(topic, b"", 1, retain=True)
