"""A client's maximum packet size binds every packet that it is sent."""

import pytest

from broker.clients import Scene
from heliograph.broker.delivery.answers import fit
from heliograph.mqtt import (
    ConnAck,
    Connect,
    Disconnect,
    PubAck,
    Reason,
    SubAck,
    Subscribe,
    Subscription,
    UnsubAck,
    Unsubscribe,
    Will,
    encode,
)

CONNACK_SIZE = 16
"""Of the shortest CONNACK that says what a client has to know."""


@pytest.fixture
def scene():
    return Scene()


def test_what_only_explains_is_left_out_first():
    told = {"reason_string": "why", "user_property": [("a", "b")], "server_keep_alive": 7}
    packet = ConnAck(False, Reason.SUCCESS, told)
    assert fit(packet, 5, 0) == encode(packet, 5)
    assert fit(packet, 5, len(encode(packet, 5))) == encode(packet, 5)
    short = encode(ConnAck(False, Reason.SUCCESS, {"server_keep_alive": 7}), 5)
    assert fit(packet, 5, len(encode(packet, 5)) - 1) == short
    assert fit(packet, 5, len(short)) == short
    assert fit(packet, 5, len(short) - 1) == b""


def test_a_client_is_welcomed_if_connack_just_fits(scene):
    assert scene.client("c", maximum_packet_size=CONNACK_SIZE).connack.reason == Reason.SUCCESS


def test_response_information_is_left_out_if_it_does_not_fit(scene):
    client = scene.client("c", maximum_packet_size=CONNACK_SIZE, request_response_information=1)
    assert client.connack.reason == Reason.SUCCESS
    assert "response_information" not in client.connack.properties


@pytest.mark.parametrize(("size", "answers"), [(CONNACK_SIZE - 1, 1), (5, 1), (4, 0), (1, 0)])
def test_a_client_that_cannot_be_welcomed_is_refused_as_far_as_that_fits(scene, size, answers):
    watcher = scene.client("w")
    watcher.subscribe("#")
    client = scene.stranger(5)
    client.send(Connect("c", 5, will=Will("a", b"gone"), properties={"maximum_packet_size": size}))
    assert b"".join(client.outlet.chunks) == answers * bytes((0x20, 3, 0, Reason.PACKET_TOO_LARGE, 0))
    assert client.ended
    assert list(scene.broker.sessions) == ["w"]
    assert scene.broker.stats.connected == 1
    assert watcher.messages() == [], "who was not let in has no will"


def test_a_refusal_fits(scene):
    client = scene.client("c", will=Will("$SYS/a"), maximum_packet_size=12)
    assert client.connack == ConnAck(False, Reason.NOT_AUTHORIZED)


def test_the_refusal_of_a_malformed_connect_fits(scene):
    malformed = encode(Connect("c\x01", 5, properties={"maximum_packet_size": 12}), 5)
    client = scene.stranger(5)
    client.send_bytes(malformed)
    assert client.take() == [ConnAck(False, Reason.MALFORMED_PACKET)]


def test_the_end_is_told_without_words_if_they_do_not_fit(scene):
    client = scene.client("c", maximum_packet_size=CONNACK_SIZE)
    client.send(PubAck(1), ConnAck())
    assert client.take() == [Disconnect(Reason.PROTOCOL_ERROR)]


def asking(kind, number):
    names = [f"a/{index}" for index in range(number)]
    return Subscribe(1, tuple(map(Subscription, names))) if kind is SubAck else Unsubscribe(1, tuple(names))


@pytest.mark.parametrize("kind", [SubAck, UnsubAck])
def test_an_answer_that_just_fits_is_sent(scene, kind):
    client = scene.client("c", maximum_packet_size=20)
    client.send(asking(kind, 15))
    (answer,) = client.take()
    assert isinstance(answer, kind)
    assert len(encode(answer, 5)) == 20


@pytest.mark.parametrize("kind", [SubAck, UnsubAck])
def test_nothing_is_done_for_a_client_that_takes_no_answer_of_that_size(scene, kind):
    client = scene.client("c", maximum_packet_size=20, session_expiry_interval=60)
    client.send(asking(kind, 16))
    assert [packet.reason for packet in client.take()] == [Reason.PACKET_TOO_LARGE]
    assert client.ended
    assert scene.broker.subscriptions.count == 0
