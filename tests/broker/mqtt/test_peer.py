"""What is known of a client while it is connected: its aliases, what it may be sent, what its last packet was like."""

import pytest

from broker.clients import DurableScene, OpenAuthenticator, Scene
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.mqtt.connection import MqttConnection
from heliograph.mqtt import ProtocolError, Publish, Reason, SubAck, UnsubAck, encode


@pytest.fixture
def scene():
    return Scene(topic_alias_maximum=3, topic_levels=8)


@pytest.fixture
def peer(scene):
    return MqttConnection(scene.broker, Outlet(), OpenAuthenticator())


def reason(call, *arguments):
    with pytest.raises(ProtocolError) as caught:
        call(*arguments)
    return caught.value.reason


def test_an_alias_stands_for_the_topic_it_came_with_last(peer):
    assert peer.resolve_alias(b"a", 1) == b"a"
    assert peer.resolve_alias(b"", 1) == b"a"
    assert peer.resolve_alias(b"b", 3) == b"b"
    assert peer.resolve_alias(b"c", 1) == b"c"
    assert (peer.resolve_alias(b"", 1), peer.resolve_alias(b"", 3)) == (b"c", b"b")


def test_without_an_alias_there_is_a_name(peer):
    assert peer.resolve_alias(b"a", None) == b"a"
    assert reason(peer.resolve_alias, b"", None) is Reason.MALFORMED_PACKET
    peer.version5 = True
    assert reason(peer.resolve_alias, b"", None) is Reason.PROTOCOL_ERROR


@pytest.mark.parametrize(
    ("topic", "alias", "expected"),
    [(b"a", 4, Reason.TOPIC_ALIAS_INVALID), (b"", 2, Reason.PROTOCOL_ERROR), (b"", 4, Reason.TOPIC_ALIAS_INVALID)],
)
def test_aliases_that_stand_for_nothing(peer, topic, alias, expected):
    assert reason(peer.resolve_alias, topic, alias) is expected


def test_aliases_take_memory(scene, peer):
    peer.outlet.account = scene.broker.memory.account("client", "c")
    peer.resolve_alias(b"a" * 10, 1)
    used = peer.outlet.account.used
    assert used > 10
    assert peer.resolve_alias(b"a" * 10, 1)
    assert peer.outlet.account.used == used
    scene.broker.memory.set_limit(1)
    assert reason(peer.resolve_alias, b"b", 2) is Reason.QUOTA_EXCEEDED


def test_routes_are_those_of_topics_that_the_limits_allow(scene, peer):
    assert peer.find_route(b"a/b") is scene.broker.routes.find(b"a/b", 8)
    assert reason(peer.find_route, b"/".join([b"x"] * 9)) is Reason.TOPIC_NAME_INVALID
    assert reason(peer.find_route, b"a/+") is Reason.TOPIC_NAME_INVALID


@pytest.mark.parametrize("answer", [SubAck(1, (Reason.SUCCESS,) * 20), UnsubAck(1, (Reason.SUCCESS,) * 20)])
def test_nothing_is_done_for_a_client_that_cannot_be_told(peer, answer):
    peer.version, peer.version5 = 5, True
    size = len(encode(answer, 5))
    for most in (0, size):
        peer.outlet.max_packet = most
        peer.check_room_for(answer)
    peer.outlet.max_packet = size - 1
    assert reason(peer.check_room_for, answer) is Reason.PACKET_TOO_LARGE


def test_what_is_too_large_for_the_client_is_not_sent(scene, peer):
    answer = SubAck(1, (0,))
    peer.outlet.max_packet = 3
    peer.send(answer)
    assert peer.outlet.chunks == []
    peer.outlet.max_packet = 0
    peer.send(answer)
    assert peer.outlet.chunks == [encode(answer, 4)]
    assert scene.broker.turn.dirty == [peer.outlet]


@pytest.mark.parametrize("stored", [True, False])
def test_an_answer_waits_for_what_it_tells_of(tmp_path, stored):
    scene = DurableScene(tmp_path)
    peer = MqttConnection(scene.broker, Outlet(), OpenAuthenticator())
    with scene.held():
        peer.answer(b"\x40\x02\0\1", stored=stored)
        assert bool(peer.outlet.chunks) is not stored
    assert peer.outlet.chunks == [b"\x40\x02\0\1"]
    scene.close()


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("qos", [0, 1])
def test_packets_like_the_one_before_go_where_subscriptions_send_them_now(scene, version, qos):
    publisher, first, second = [scene.client(name, version) for name in "p12"]
    first.subscribe("a")
    for number in range(4):
        if number == 2:
            second.subscribe("a")
        publisher.send(Publish("a", b"%d" % number, qos, packet_id=number + 1 if qos else 0))
    assert publisher.connection._usual is not None
    assert first.payloads() == [b"0", b"1", b"2", b"3"]
    assert second.payloads() == [b"2", b"3"]
