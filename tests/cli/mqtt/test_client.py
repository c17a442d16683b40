"""What the client does when a server refuses, falls silent or goes away."""

import pytest

from heliograph.cli.mqtt import client as mqtt_client
from heliograph.cli.mqtt.client import Client
from heliograph.cli.mqtt.connection import Address
from heliograph.errors import Problem
from heliograph.mqtt import Reason, packets


@pytest.fixture
def connect(scripted_server):
    """Connect a client to a server with a script; gives the client, the server and the warnings of the client."""

    def start(script, version=5, keep_alive=60):
        server = scripted_server(script, version)
        warnings = []
        packet = packets.Connect("me", version, keep_alive=keep_alive)
        address = Address("127.0.0.1", server.port)
        return Client(address, packet, goodbye=packets.Disconnect(), trace=None, warn=warnings.append), server, warnings

    return start


def answering(answers, connack=None):
    """A script that accepts the connection and answers other packets by their type."""

    def script(packet):
        if isinstance(packet, packets.Connect):
            return [connack or packets.ConnAck()]
        if isinstance(packet, packets.Disconnect):
            return None
        return answers.get(type(packet), [])

    return script


@pytest.mark.parametrize(
    ("version", "answer", "message"),
    [
        (5, packets.ConnAck(False, Reason.NOT_AUTHORIZED), "connection refused: not authorized (0x87)"),
        (
            5,
            packets.ConnAck(False, Reason.BANNED, {"reason_string": "go away"}),
            "connection refused: banned (0x8a): go away",
        ),
        (4, packets.ConnAck(False, 5), "connection refused: not authorized (return code 5)"),
        (3, packets.ConnAck(False, 2), "connection refused: client identifier not valid (return code 2)"),
    ],
)
def test_a_refused_connection_is_explained(connect, version, answer, message):
    with pytest.raises(Problem) as caught:
        connect(answering({}, answer), version)
    assert str(caught.value) == message


def test_a_server_that_closes_the_connection(connect):
    with pytest.raises(Problem, match=r"the server closed it|reset"):
        connect(lambda _packet: None)


def test_a_server_that_does_not_answer(connect, monkeypatch):
    monkeypatch.setattr(mqtt_client, "CONNECT_TIMEOUT", 0.05)
    with pytest.raises(Problem, match=r"has not answered CONNECT for 0\.05 s"):
        connect(lambda _packet: [])


def test_a_server_that_does_not_speak_mqtt(connect):
    with pytest.raises(Problem, match="not MQTT"):
        connect(lambda _packet: [packets.Subscribe(1, ())])


def test_an_authentication_exchange_is_not_expected(connect):
    with pytest.raises(Problem, match="sent AUTH"):
        connect(lambda _packet: [packets.Auth(0x18, {"authentication_method": "m"})])


def test_refused_subscriptions_are_reported(connect):
    client, _, warnings = connect(answering({packets.Subscribe: [packets.SubAck(1, (0, Reason.NOT_AUTHORIZED))]}))
    with client:
        client.subscribe([packets.Subscription("a"), packets.Subscription("b")], {})
    assert warnings == ["subscription to 'b' refused: not authorized (0x87)"]


def test_a_subscription_that_is_refused_altogether_is_a_problem(connect):
    client, _, _ = connect(answering({packets.Subscribe: [packets.SubAck(1, (0x80,))]}, packets.ConnAck()), version=4)
    with client, pytest.raises(Problem, match=r"subscription to 'a' refused: unspecified error \(0x80\)"):
        client.subscribe([packets.Subscription("a")], {})


def test_a_subscription_without_an_answer(connect, monkeypatch):
    monkeypatch.setattr(mqtt_client, "ANSWER_TIMEOUT", 0.05)
    client, _, _ = connect(answering({}))
    with client, pytest.raises(Problem, match="has not answered SUBSCRIBE"):
        client.subscribe([packets.Subscription("a")], {})


@pytest.mark.parametrize(("qos", "refusal"), [(1, packets.PubAck), (2, packets.PubRec)])
def test_a_refused_message_is_reported_and_counted(connect, qos, refusal):
    client, _, warnings = connect(answering({packets.Publish: [refusal(1, Reason.QUOTA_EXCEEDED)]}))
    with client:
        client.publish("a", b"", qos, False, {})
        client.flush()
    assert warnings == ["message to 'a' refused: quota exceeded (0x97)"]
    assert client.refused == 1


def test_a_message_that_is_never_acknowledged(connect, monkeypatch):
    monkeypatch.setattr(mqtt_client, "ANSWER_TIMEOUT", 0.05)
    client, _, _ = connect(answering({}))
    client.publish("a", b"", 1, False, {})
    with client, pytest.raises(Problem, match="has not acknowledged any message"):
        client.flush()


def test_no_more_messages_are_under_way_than_the_server_allows(connect):
    held = []

    def script(packet):
        if isinstance(packet, packets.Connect):
            return [packets.ConnAck(properties={"receive_maximum": 2})]
        if not isinstance(packet, packets.Publish):
            return None
        held.append(packet.packet_id)
        assert len(held) <= 2
        return [packets.PubAck(held.pop(0)) for _ in range(2)] if len(held) == 2 else []

    client, server, _ = connect(script)
    with client:
        for _ in range(6):
            client.publish("a", b"", 1, False, {})
        client.flush()
    assert len([packet for packet in server.received if isinstance(packet, packets.Publish)]) == 6


def test_a_message_of_qos_2_that_is_sent_again_is_delivered_once(connect):
    message = packets.Publish("a", b"", 2, False, False, 9)
    again = packets.Publish("a", b"", 2, False, True, 9)
    answers = iter([[message], [again], [packets.PubRel(9)]])

    def script(packet):
        if isinstance(packet, packets.Connect):
            return [packets.ConnAck(), *next(answers)]
        return next(answers) if isinstance(packet, packets.PubRec) else None

    client, server, _ = connect(script)
    delivered = []
    with client, pytest.raises(Problem, match="lost"):
        _receive(client, delivered)
    assert delivered == [message]
    assert server.received[-1] == packets.PubComp(9)


def test_a_disconnection_by_the_server_is_explained_after_the_last_message(connect):
    goodbye = [packets.Publish("a", b"last"), packets.Disconnect(Reason.SESSION_TAKEN_OVER)]
    client, _, _ = connect(answering({packets.Subscribe: [packets.SubAck(1, (0,)), *goodbye]}))
    client.subscribe([packets.Subscription("a")], {})
    delivered = []
    with client, pytest.raises(Problem, match=r"disconnected by the server: session taken over \(0x8e\)"):
        _receive(client, delivered)
    assert [message.payload for message in delivered] == [b"last"]


def test_a_server_that_does_not_answer_pings(connect):
    client, server, _ = connect(answering({}), keep_alive=1)
    with client, pytest.raises(Problem, match="has not answered a ping for 1 s"):
        _receive(client, [])
    assert packets.PingReq() in server.received


def test_the_server_may_choose_the_keep_alive(connect):
    client, server, _ = connect(
        answering({packets.PingReq: [packets.Disconnect()]}, packets.ConnAck(properties={"server_keep_alive": 1}))
    )
    with client, pytest.raises(Problem, match="disconnected"):
        _receive(client, [])
    assert packets.PingReq() in server.received


def _receive(client, delivered):
    """Take messages until something ends the connection."""
    while True:
        while client.messages:
            delivered.append(client.messages.popleft())
            client.acknowledge(delivered[-1])
        client.step(None)
