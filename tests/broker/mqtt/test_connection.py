"""A connection's life: keep-alive, errors and their reasons, limits on what a client sends."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.clients import Scene
from heliograph.mqtt import (
    Auth,
    ConnAck,
    Connect,
    Disconnect,
    PingReq,
    PingResp,
    Publish,
    PubRec,
    PubRel,
    Reason,
    SubAck,
    Subscribe,
    Subscription,
    encode,
)


@pytest.fixture
def scene():
    return Scene()


def reason_of_goodbye(client):
    packet = client.take()[-1]
    assert isinstance(packet, Disconnect)
    assert client.ended
    return packet.reason


# Time


@pytest.mark.parametrize("version", [4, 5])
def test_a_client_is_given_one_and_a_half_times_its_keep_alive(scene, version):
    client = scene.client("c", version, keep_alive=10)
    for _ in range(3):
        scene.pass_time(14.9)
        assert not client.ended
        client.send(PingReq())
    assert client.take() == [PingResp()] * 3
    scene.pass_time(15)
    assert client.ended
    if version == 5:
        assert reason_of_goodbye(client) == Reason.KEEP_ALIVE_TIMEOUT


@pytest.mark.parametrize("keep_alive", [2, 6, 7, 100], ids=lambda seconds: f"{seconds} s")
def test_time_for_connect_does_not_count_towards_the_keep_alive(scene, keep_alive):
    client = scene.client("c", keep_alive=keep_alive)
    scene.pass_time(1.5 * keep_alive - 0.1)
    assert not client.ended
    scene.pass_time(0.1)
    assert client.ended


def test_everything_that_a_client_sends_keeps_it_alive(scene):
    client = scene.client("c", 4, keep_alive=10)
    for _ in range(4):
        scene.pass_time(14)
        client.publish("a", b"x")
    assert not client.ended


def test_without_a_keep_alive_a_client_may_be_silent(scene):
    client = scene.client("c", keep_alive=0)
    scene.pass_time(1_000_000)
    assert not client.ended


def test_the_server_can_shorten_the_keep_alive_of_mqtt_5_clients():
    scene = Scene(keep_alive_max=10)
    for asked, told in ((0, 10), (11, 10), (10, None), (5, None)):
        client = scene.client("c", keep_alive=asked)
        assert client.connack.properties.get("server_keep_alive") == told
    none, long = scene.client("none", keep_alive=0), scene.client("long", keep_alive=1000)
    scene.pass_time(15)
    assert none.ended
    assert long.ended


def test_mqtt_3_clients_keep_the_keep_alive_they_chose():
    scene = Scene(keep_alive_max=10)
    client = scene.client("c", 4, keep_alive=100)
    scene.pass_time(100)
    assert not client.ended


def test_a_connection_without_connect_is_closed_in_time(scene):
    silent, slow = scene.stranger(), scene.stranger()
    slow.send_bytes(b"\x10\x20")
    scene.pass_time(9)
    assert not silent.ended
    scene.pass_time(1)
    assert silent.ended
    assert slow.ended
    assert silent.take() == []


def test_a_connection_has_one_timer_at_a_time(scene):
    scene.client("c", keep_alive=10).lose()
    client = scene.client("c", keep_alive=10)
    for _ in range(20):
        scene.pass_time(5)
        client.send(PingReq())
    assert len(scene.broker.timers) == 1


# Packets out of place


@pytest.mark.parametrize(
    "packet", [PingReq(), Publish("a"), Subscribe(1, (Subscription("a"),)), Disconnect(), ConnAck()]
)
def test_the_first_packet_has_to_be_connect(scene, packet):
    client = scene.stranger()
    client.send(packet)
    assert client.ended
    assert client.take() == []


@pytest.mark.parametrize(
    "packet",
    [
        Connect("c", 5),
        ConnAck(),
        SubAck(1, (0,)),
        PingResp(),
        Auth(),
        Auth(Reason.REAUTHENTICATE, {"authentication_method": "x"}),
    ],
)
def test_packets_that_a_client_cannot_send_end_the_connection(scene, packet):
    client = scene.client("c", 5)
    client.send(packet)
    assert reason_of_goodbye(client) == Reason.PROTOCOL_ERROR
    assert scene.broker.stats.protocol_errors == 1


def test_an_mqtt_3_client_is_told_nothing_about_its_error(scene):
    client = scene.client("c", 4)
    client.send(Connect("c", 4))
    assert client.ended
    assert client.take() == []


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x00\x00", Reason.MALFORMED_PACKET),
        (b"\x36\x06\x00\x01a\x00\x01\x00", Reason.MALFORMED_PACKET),
        (b"\x38\x04\x00\x01a\x00", Reason.MALFORMED_PACKET),
        (b"\x30\x01\x00", Reason.MALFORMED_PACKET),
        (b"\x30\x04\x00\x05a\x00", Reason.MALFORMED_PACKET),
        (b"\x30\x05\x00\x02\xff\xff\x00", Reason.MALFORMED_PACKET),
        (b"\x30\x05\x00\x02a\x00\x00", Reason.MALFORMED_PACKET),
        (b"\x30\x06\x00\x03a/#\x00", Reason.TOPIC_NAME_INVALID),
        (b"\x30\x03\x00\x00\x00", Reason.PROTOCOL_ERROR),
        (b"\x32\x06\x00\x01a\x00\x00\x00", Reason.PROTOCOL_ERROR),
        (b"\x30\x06\x00\x01a\x02\x0b\x01", Reason.PROTOCOL_ERROR),
        (b"\x40\x02\x00\x00", Reason.PROTOCOL_ERROR),
        (b"\x41\x02\x00\x01", Reason.MALFORMED_PACKET),
        (b"\x60\x02\x00\x01", Reason.MALFORMED_PACKET),
        (b"\x6a\x02\x00\x01", Reason.MALFORMED_PACKET),
        (b"\x40\x01\x00", Reason.MALFORMED_PACKET),
        (b"\x82\x03\x00\x01\x00", Reason.PROTOCOL_ERROR),
        (b"\xc0\x01\x00", Reason.MALFORMED_PACKET),
        (b"\x30\xff\xff\xff\xff", Reason.MALFORMED_PACKET),
    ],
    ids=lambda value: value.hex() if isinstance(value, bytes) else value.name,
)
def test_an_error_has_the_reason_that_the_standard_names(scene, data, reason):
    client = scene.client("c", 5)
    client.send_bytes(data)
    assert reason_of_goodbye(client) == reason


def test_nothing_is_taken_after_the_end(scene):
    watcher, client = scene.client("w"), scene.client("c")
    watcher.subscribe("#")
    client.send_bytes(encode(Disconnect(), 5) + encode(Publish("a", b"1"), 5))
    client.publish("a", b"2")
    assert watcher.take() == []


def test_a_topic_with_too_many_levels_is_an_error():
    scene = Scene(topic_levels=3)
    client = scene.client("c")
    client.publish("a/b/c")
    assert not client.ended
    client.publish("a/b/c/d")
    assert reason_of_goodbye(client) == Reason.TOPIC_NAME_INVALID


# Reason strings


def goodbye(scene, **properties):
    client = scene.client("c", **properties)
    client.send(Connect("c", 5))
    return client.take()[-1]


def test_a_reason_string_explains_the_end(scene):
    assert goodbye(scene).properties["reason_string"] == "unexpected Connect"


def test_a_client_can_do_without_reason_strings(scene):
    assert goodbye(scene, request_problem_information=0) == Disconnect(Reason.PROTOCOL_ERROR)


def test_a_reason_string_is_left_out_where_it_would_be_too_large(scene):
    assert goodbye(scene, maximum_packet_size=20) == Disconnect(Reason.PROTOCOL_ERROR)


def test_a_reason_string_quotes_no_more_than_fits(scene):
    client = scene.client("c")
    client.send(Subscribe(1, (Subscription("#" * 65_000),)))
    assert reason_of_goodbye(client) == Reason.TOPIC_FILTER_INVALID


# Limits on what a client sends


def test_qos_2_over_the_receive_maximum_ends_the_connection():
    scene = Scene(receive_maximum=2)
    client = scene.client("c")
    for packet_id in (1, 2):
        assert client.publish("a", b"", 2, packet_id=packet_id) == PubRec(packet_id, Reason.NO_MATCHING_SUBSCRIBERS)
    client.publish("a", b"", 2, packet_id=1, dup=True)
    client.send(PubRel(1), Publish("a", b"", 2, packet_id=3))
    assert not client.ended
    client.publish("a", b"", 2, packet_id=4)
    assert reason_of_goodbye(client) == Reason.RECEIVE_MAXIMUM_EXCEEDED


def test_a_repeated_message_does_not_count_twice_against_the_receive_maximum():
    scene = Scene(receive_maximum=2)
    client = scene.client("c")
    client.publish("a", b"", 2, packet_id=1)
    client.send(Publish("a", b"", 2, packet_id=1), Publish("a", b"", 2, packet_id=2))
    assert not client.ended


def test_mqtt_3_clients_have_no_receive_maximum():
    scene = Scene(receive_maximum=2)
    client = scene.client("c", 4)
    client.send(*[Publish("a", b"", 2, packet_id=packet_id) for packet_id in range(1, 100)])
    assert not client.ended


@pytest.mark.parametrize("alias", [17, 65_535])
def test_a_topic_alias_over_the_maximum_is_invalid(scene, alias):
    client = scene.client("c")
    client.publish("a", b"", topic_alias=alias)
    assert reason_of_goodbye(client) == Reason.TOPIC_ALIAS_INVALID


def test_topic_alias_0_is_invalid(scene):
    client = scene.client("c")
    client.send_bytes(b"\x30\x07\x00\x01a\x03\x23\x00\x00")
    assert reason_of_goodbye(client) == Reason.TOPIC_ALIAS_INVALID


def test_a_topic_alias_that_stands_for_nothing_is_an_error(scene):
    client = scene.client("c")
    client.publish("", b"", topic_alias=1)
    assert reason_of_goodbye(client) == Reason.PROTOCOL_ERROR


def test_a_topic_alias_stands_for_the_last_name_it_was_given(scene):
    watcher, client = scene.client("w"), scene.client("c")
    watcher.subscribe("#", 1)
    client.publish("a", b"1", 1, topic_alias=1)
    client.publish("", b"2", 1, topic_alias=1)
    client.publish("b", b"3", topic_alias=1)
    client.publish("", b"4", topic_alias=1)
    assert [(m.topic, m.payload, m.properties) for m in watcher.messages()] == [
        ("a", b"1", {}),
        ("a", b"2", {}),
        ("b", b"3", {}),
        ("b", b"4", {}),
    ]


def test_a_topic_alias_is_forgotten_with_the_connection(scene):
    scene.client("c", session_expiry_interval=100).publish("a", b"", topic_alias=1)
    client = scene.client("c", clean=False)
    client.publish("", b"", topic_alias=1)
    assert reason_of_goodbye(client) == Reason.PROTOCOL_ERROR


# Counting


def test_connections_are_counted_as_they_come_and_go(scene):
    clients = [scene.client(f"c{index}") for index in range(3)]
    clients[0].disconnect()
    clients[1].lose()
    stats = scene.broker.stats
    assert (stats.connections, stats.connected, stats.connected_high_water) == (3, 1, 3)


class Notes:
    """A journal for tests."""

    def __init__(self):
        self.lines = []

    def admitted(self, outlet, client_id, **particulars):
        self.lines.append(("admitted", client_id))

    def refused(self, outlet, reason, text, **particulars):
        self.lines.append(("refused", reason))

    def ended(self, client_id, why):
        self.lines.append(("ended", client_id, why))


def test_the_journal_is_told_of_comings_and_goings():
    scene = Scene(connections=1)
    scene.broker.journal = notes = Notes()
    client = scene.client("c")
    scene.client("d")
    client.lose()
    assert notes.lines == [("admitted", "c"), ("refused", "QUOTA_EXCEEDED"), ("ended", "c", "connection lost")]


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.sampled_from([0, 10, 3000, 16_370, 16_384, 40_000, 100_000]), min_size=1, max_size=6),
    cuts=st.lists(st.integers(0, 400_000), max_size=8),
    qos=st.integers(0, 2),
)
def test_it_does_not_matter_how_large_packets_are_cut(sizes, cuts, qos):
    scene = Scene(max_messages=100_000, inflight=1000)
    receiver, publisher = scene.client("r"), scene.client("p")
    receiver.subscribe("a", qos)
    sent = [
        Publish("a", bytes([number]) * size, qos, packet_id=number + 1 if qos else 0)
        for number, size in enumerate(sizes)
    ]
    stream = b"".join(encode(packet, 5) for packet in sent)
    edges = sorted({0, len(stream), *[cut for cut in cuts if cut < len(stream)]})
    for start, end in pairwise(edges):
        publisher.send_bytes(stream[start:end])
    assert receiver.payloads() == [packet.payload for packet in sent]
    assert len(publisher.take()) == (len(sent) if qos else 0)
