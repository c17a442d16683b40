"""CONNECT and CONNACK: who is let in, and what they are told."""

import pytest

from broker.clients import Scene
from heliograph.mqtt import ConnAck, Connect, PingReq, PingResp, Publish, Reason, Will, encode

FEATURES = {"receive_maximum": 2048, "maximum_packet_size": 4 * 1024 * 1024, "topic_alias_maximum": 16}


class LateAuthenticator:
    """Lets the test decide, after CONNECT has come."""

    def __init__(self):
        self.user = self.password = self.verdict = None

    def check(self, outlet, user, password, verdict):
        self.user, self.password, self.verdict = user, password, verdict


@pytest.fixture
def scene():
    return Scene()


@pytest.mark.parametrize("version", [3, 4])
def test_an_mqtt_3_client_is_welcomed_in_its_own_form(scene, version):
    client = scene.stranger(version)
    client.send(Connect("c", version))
    assert b"".join(client.outlet.chunks) == b"\x20\x02\x00\x00"


def test_an_mqtt_5_client_is_told_what_the_server_takes(scene):
    assert scene.client("c").connack == ConnAck(False, Reason.SUCCESS, FEATURES)


def test_what_the_server_takes_follows_its_limits():
    scene = Scene(receive_maximum=7, packet_size=1000, topic_alias_maximum=3)
    told = {"receive_maximum": 7, "maximum_packet_size": 1000, "topic_alias_maximum": 3}
    assert scene.client("c").connack.properties == told


def test_mqtt_3_1_is_not_told_of_an_old_session(scene):
    for version, present in ((3, 0), (4, 1)):
        scene.client("c", version, clean=False).lose()
        client = scene.stranger(version)
        client.send(Connect("c", version, False))
        assert b"".join(client.outlet.chunks) == bytes((0x20, 2, present, 0))
        client.lose()


def test_a_client_without_an_identifier_gets_one(scene):
    assert scene.client("").connack.properties["assigned_client_identifier"] == "auto-assigned-1"
    assert scene.client("", 4).connack == ConnAck()
    assert list(scene.broker.sessions) == ["auto-assigned-1", "auto-assigned-2"]
    assert "assigned_client_identifier" not in scene.client("own").connack.properties


def test_mqtt_3_1_1_without_an_identifier_needs_a_clean_session(scene):
    client = scene.client("", 4, clean=False)
    assert (client.connack, client.ended) == (ConnAck(False, 2), True)


def test_response_information_comes_only_if_asked_for(scene):
    asked = scene.client("c", request_response_information=1)
    assert asked.connack.properties["response_information"] == "reply/c"
    assert "response_information" not in scene.client("d").connack.properties


def test_packets_behind_connect_are_served_in_order(scene):
    watcher = scene.client("w")
    watcher.subscribe("#")
    client = scene.stranger(4)
    client.send(Connect("c", 4), Publish("a", b"1"), PingReq(), Publish("a", b"2"))
    assert client.take() == [ConnAck(), PingResp()]
    assert watcher.payloads() == [b"1", b"2"]


# The authenticator


def test_a_client_waits_for_the_verdict_on_its_credentials(scene):
    watcher, authenticator = scene.client("w"), LateAuthenticator()
    watcher.subscribe("#")
    client = scene.stranger(4, authenticator)
    client.send(Connect("c", 4, username="u", password=b"p"), Publish("a", b"1"))
    client.send(Publish("a", b"2"))
    assert (authenticator.user, authenticator.password) == ("u", b"p")
    assert client.take() == watcher.take() == []
    authenticator.verdict(Reason.SUCCESS, "", None)
    assert client.take() == [ConnAck()]
    assert watcher.payloads() == [b"1", b"2"]


@pytest.mark.parametrize(
    ("reason", "code"), [(Reason.BAD_USER_NAME_OR_PASSWORD, 4), (Reason.NOT_AUTHORIZED, 5), (Reason.SERVER_BUSY, 3)]
)
def test_a_client_whose_credentials_are_refused_is_told_and_let_go(scene, reason, code):
    for version in (4, 5):
        authenticator = LateAuthenticator()
        client = scene.stranger(version, authenticator)
        client.send(Connect("c", version, username="u"), Publish("a", b"1", 1, packet_id=1))
        authenticator.verdict(reason, "no", None)
        (connack,) = client.take()
        assert connack.reason == (reason if version == 5 else code)
        assert connack.properties == ({"reason_string": "no"} if version == 5 else {})
        assert client.ended
    assert scene.broker.stats.refused == 2
    assert scene.broker.sessions == {}


def test_a_verdict_on_a_client_that_has_gone_does_nothing(scene):
    authenticator = LateAuthenticator()
    client = scene.stranger(4, authenticator)
    client.send(Connect("c", 4))
    client.lose()
    authenticator.verdict(Reason.SUCCESS, "", None)
    assert scene.broker.sessions == {}


def test_a_client_cannot_send_without_end_before_the_verdict(scene):
    client = scene.stranger(4, LateAuthenticator())
    client.send(Connect("c", 4))
    for _ in range(600):
        client.send_bytes(b"x" * 1024)
    assert client.ended


# Refusals


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"connections": 1}, Reason.QUOTA_EXCEEDED),
        ({"sessions": 1}, Reason.QUOTA_EXCEEDED),
        ({"connects_per_second": 1}, Reason.CONNECTION_RATE_EXCEEDED),
    ],
)
def test_limits_are_told_in_the_clients_version(limits, reason):
    scene = Scene(**limits)
    scene.client("first")
    v5, v3 = scene.client("v5", 5), scene.client("v3", 4)
    assert (v5.connack.reason, v3.connack.reason) == (reason, 3)
    assert v5.connack.properties["reason_string"]
    assert v5.ended
    assert v3.ended
    assert scene.broker.stats.refused == 2


def test_a_client_that_takes_its_own_place_needs_no_room():
    scene = Scene(connections=1, sessions=1)
    scene.client("c")
    assert scene.client("c").connack.reason == Reason.SUCCESS


def test_the_pace_of_new_clients_is_a_rate_not_a_sum():
    scene = Scene(connects_per_second=2)
    reasons = []
    for _ in range(4):
        reasons.append([scene.client("").connack.reason for _ in range(3)])
        scene.pass_time(1)
    rejected = Reason.CONNECTION_RATE_EXCEEDED
    assert reasons == [[0, 0, rejected]] * 4
    scene.pass_time(100)
    assert [scene.client("").connack.reason for _ in range(3)] == [0, 0, rejected], "no more at once than in a second"
    scene.pass_time(0.5)
    assert [scene.client("").connack.reason for _ in range(2)] == [0, rejected]


def test_extended_authentication_is_refused_by_name(scene):
    client = scene.client("c", authentication_method="SCRAM")
    assert client.connack.reason == Reason.BAD_AUTHENTICATION_METHOD


@pytest.mark.parametrize(
    ("topic", "reason"),
    [("$SYS/a", Reason.NOT_AUTHORIZED), ("$share/a", Reason.NOT_AUTHORIZED), ("a/b/c/d", Reason.TOPIC_NAME_INVALID)],
)
def test_a_will_that_could_not_be_published_is_refused(topic, reason):
    scene = Scene(topic_levels=3)
    assert scene.client("c", will=Will(topic)).connack.reason == reason
    assert scene.client("d", 4, will=Will(topic)).ended


@pytest.mark.parametrize("level", [0, 3, 6, 0x7F, 0x80, 0x85, 0xFF])
def test_a_version_that_nobody_speaks_is_refused_in_the_form_of_mqtt_3(scene, level):
    """Whoever speaks a later version than MQTT 5 has to reckon with servers that know no more than MQTT 3."""
    client = scene.stranger()
    client.send_bytes(b"\x10\x0d\x00\x04MQTT%c\x02\x00\x00\x00\x01c" % level)
    assert b"".join(client.outlet.chunks) == b"\x20\x02\x00\x01"
    assert client.ended


def test_a_malformed_connect_is_answered_in_mqtt_5_only(scene):
    flawed = {version: bytearray(encode(Connect("c", version), version)) for version in (4, 5)}
    for version, data in flawed.items():
        data[9] |= 1  # the reserved flag
        client = scene.stranger(version)
        client.send_bytes(bytes(data))
        answer = client.take()
        assert client.ended
        assert [p.reason for p in answer] == ([Reason.MALFORMED_PACKET] if version == 5 else [])


def test_a_connect_larger_than_anybody_needs_is_not_waited_for(scene):
    client = scene.stranger()
    client.send_bytes(b"\x10\xff\xff\x7f")
    assert client.ended


def test_a_refusal_quotes_no_more_than_fits(scene):
    data = bytearray(encode(Connect("c", 5, will=Will("x" * 65_000)), 5))
    data[data.index(b"x" * 10)] = ord("#")
    client = scene.stranger(5)
    client.send_bytes(bytes(data))
    assert client.take()[0].reason == Reason.TOPIC_NAME_INVALID


@pytest.mark.parametrize("flags", [0x03, 0x0A, 0x22])
def test_mqtt_3_1_disregards_bits_that_mean_nothing(scene, flags):
    for first in (0x10, 0x14, 0x1F):
        client = scene.stranger(3)
        client.send_bytes(b"%c\x0f\x00\x06MQIsdp\x03%c\x00\x00\x00\x01c" % (first, flags))
        assert client.take() == [ConnAck()]
