"""What comes in: however the network cuts the bytes, the same messages are delivered and acknowledged."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.clients import Scene
from heliograph.broker.core.limits import WhenFull
from heliograph.mqtt import PingReq, Publish, PubRel, Reason, encode
from heliograph.mqtt.framing import PacketType

TOPICS = ["a", "a/b", "a/c", "b", "nobody/listens", "$private/a", "$SYS/a", "é/" + "x" * 130]
PAYLOADS = [b"", b"1", b"22", b"333", b"\x30\x05\x00\x01a\x00", b"x" * 120, b"y" * 200]
PROPERTIES = [
    {},
    {},
    {"payload_format_indicator": 1},
    {"user_property": [("b", "1"), ("a", "2"), ("b", "3")], "content_type": "text"},
    {"message_expiry_interval": 7, "response_topic": "r"},
]


@st.composite
def publish_runs(draw, version):
    """Some messages in a row that differ in nothing, in their lengths, or in everything."""
    qos = draw(st.integers(0, 2))
    topics, payloads = st.sampled_from(TOPICS), st.sampled_from(PAYLOADS)
    properties = st.sampled_from(PROPERTIES) if version == 5 else st.just({})
    one_topic, one_payload, one_set = draw(topics), draw(payloads), draw(properties)
    kind = draw(st.sampled_from(["same", "same", "lengths", "any"]))
    first_id = draw(st.integers(1, 20))
    return [
        Publish(
            draw(topics) if kind == "any" else one_topic,
            draw(payloads) if kind != "same" else one_payload,
            qos,
            draw(st.booleans()) if kind == "any" else False,
            draw(st.booleans()) if kind == "any" and qos else False,
            draw(st.sampled_from([first_id, first_id + index])) if qos else 0,
            draw(properties) if kind == "any" else one_set,
        )
        for index in range(draw(st.integers(1, 8)))
    ]


def alias_runs():
    def run(alias, topic, count, qos):
        named = Publish(topic, b"1", qos, packet_id=30 if qos else 0, properties={"topic_alias": alias})
        numbers = [31 + index if qos else 0 for index in range(count)]
        return [named, *(Publish("", b"n", qos, packet_id=i, properties={"topic_alias": alias}) for i in numbers)]

    return st.builds(run, st.integers(1, 3), st.sampled_from(TOPICS), st.integers(0, 4), st.integers(0, 2))


def conversations(version):
    releases = st.builds(
        lambda first, count: [PubRel(first + i) for i in range(count)], st.integers(1, 25), st.integers(1, 4)
    )
    parts = [publish_runs(version), publish_runs(version), releases, st.just([PingReq()])]
    if version == 5:
        parts.append(alias_runs())
    return st.lists(st.one_of(*parts), min_size=1, max_size=8).map(lambda runs: [p for run in runs for p in run])


def pieces(data, cuts):
    bounds = [0, *sorted(cuts), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(bounds) if b > a]


def outcome(version, parts):
    """Everything that clients of every kind get when these bytes come, and what the publisher gets."""
    scene = Scene(max_messages=20)
    receivers = {
        "same": scene.client("same", version),
        "same, narrow": scene.client("narrow", version),
        "other": scene.client("other", 4 if version == 5 else 5),
        "aliases": scene.client("aliases", 5, topic_alias_maximum=2),
        "identified": scene.client("identified", 5),
        "few": scene.client("few", 5, receive_maximum=3),
        "small": scene.client("small", 5, maximum_packet_size=100),
    }
    receivers["same"].subscribe("#")
    receivers["same, narrow"].subscribe("a/#", 2)
    receivers["other"].subscribe("+/b", 1)
    receivers["other"].subscribe("a/c", 2)
    receivers["aliases"].subscribe("#", 2)
    receivers["identified"].subscribe("a/+", 1, identifier=77, retain_as_published=True)
    receivers["few"].subscribe("#", 1)
    receivers["small"].subscribe("#", 2)
    publisher = scene.client("publisher", version)
    publisher.subscribe("b", 1)
    for part in parts:
        publisher.send_bytes(part)
    got = {name: receiver.take() for name, receiver in receivers.items()}
    own = publisher.take()
    late = scene.client("late", version)
    late.subscribe("#", 2)
    got["late"] = late.take()
    stats = scene.broker.stats
    counted = (stats.messages_received, stats.messages_sent, stats.dropped, stats.too_large)
    # Acknowledgements keep their order among each other, and so do messages; how the two mix depends on the cuts.
    return (
        got,
        [p for p in own if isinstance(p, Publish)],
        [p for p in own if not isinstance(p, Publish)],
        counted,
        publisher.ended,
    )


@pytest.mark.parametrize("version", [4, 5])
@settings(deadline=None, max_examples=400)
@given(st.data())
def test_how_the_bytes_are_cut_changes_nothing(version, data):
    packets = [encode(packet, version) for packet in data.draw(conversations(version))]
    whole = b"".join(packets)
    one_by_one = outcome(version, packets)
    assert outcome(version, [whole]) == one_by_one
    cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=12))
    assert outcome(version, pieces(whole, cuts)) == one_by_one


def outcome_of_a_full_buffer(when_full, qos, parts):
    scene = Scene(max_messages=4, when_full=when_full)
    receiver = scene.client("few", 5, receive_maximum=3)
    receiver.subscribe("a", qos)
    receiver.connection.pause()
    publisher = scene.client("publisher", 5)
    for part in parts:
        publisher.send_bytes(part)
    receiver.connection.resume()
    subscription = scene.broker.sessions["few"].subscriptions["a"]
    buffer = subscription.buffer
    counted = (buffer.count, buffer.high_water, buffer.rejected, buffer.discarded) if buffer else None
    return receiver.take(), publisher.take(), counted, scene.broker.stats.dropped


@pytest.mark.parametrize("when_full", WhenFull)
@settings(deadline=None, max_examples=150)
@given(st.data())
def test_how_the_bytes_are_cut_does_not_change_which_messages_find_room(when_full, data):
    qos, subscribed = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))
    count = data.draw(st.integers(1, 12))
    packets = [
        encode(Publish("a", b"%d" % (index % 10), qos, packet_id=index + 1 if qos else 0), 5) for index in range(count)
    ]
    whole = b"".join(packets)
    one_by_one = outcome_of_a_full_buffer(when_full, subscribed, packets)
    assert outcome_of_a_full_buffer(when_full, subscribed, [whole]) == one_by_one
    cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=5))
    assert outcome_of_a_full_buffer(when_full, subscribed, pieces(whole, cuts)) == one_by_one


@pytest.mark.parametrize("version", [4, 5])
@settings(deadline=None, max_examples=150)
@given(st.data())
def test_how_the_bytes_are_cut_changes_nothing_of_what_comes_before_an_error(version, data):
    good = [encode(packet, version) for packet in data.draw(publish_runs(version))]
    bad = data.draw(
        st.sampled_from(
            [
                b"\x36\x05\x00\x01a\x00\x01",  # QoS 3
                b"\x30\x03\x00\x05a",  # shorter than its topic name
                b"\x30\x04\x00\x01+\x00",  # a wildcard in a topic name
                b"\x32\x06\x00\x01a\x00\x00\x00",  # packet identifier 0
                b"\x30\xff\xff\xff\xff\x01",  # a length of five bytes
                b"\x10\x00",  # a second CONNECT
                b"\x00\x00",  # no such packet
            ]
        )
    )
    whole = b"".join([*good, bad])
    one_by_one = outcome(version, [*good, bad])
    assert one_by_one[-1]
    assert outcome(version, [whole]) == one_by_one
    cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=5))
    assert outcome(version, pieces(whole, cuts)) == one_by_one


@settings(deadline=None, max_examples=300)
@given(st.sampled_from([3, 4, 5]), st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=4))
def test_no_bytes_can_do_more_than_end_the_connection(version, garbage):
    scene = Scene()
    watcher = scene.client("watcher", version)
    watcher.subscribe("#", 1)
    client = scene.client("client", version)
    for piece in garbage:
        client.send_bytes(piece)
    client.lose()
    for packet in watcher.take():
        assert isinstance(packet, Publish)
    assert scene.broker.stats.connected == 1


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from([4, 5]),
    st.sampled_from(list(PacketType)),
    st.integers(0, 15),
    st.binary(max_size=30),
)
def test_no_packet_can_do_more_than_end_the_connection(version, kind, flags, body):
    scene = Scene()
    watcher = scene.client("watcher", version)
    watcher.subscribe("#", 1)
    client = scene.client("client", version)
    client.send_bytes(bytes((kind << 4 | flags, len(body))) + body)
    client.lose()
    watcher.take()
    assert scene.broker.stats.connected == 1


def test_a_short_packet_to_the_usual_topic_is_forwarded_again_and_again():
    scene = Scene()
    receiver, publisher = scene.client("receiver", 4), scene.client("publisher", 4)
    receiver.subscribe("a")
    for payload in (b"1", b"22", b"", b"333"):
        publisher.publish("a", payload)
    assert receiver.payloads() == [b"1", b"22", b"", b"333"]


def test_the_usual_topic_is_looked_up_again_when_subscriptions_change():
    scene = Scene()
    first, second, publisher = scene.client("1", 4), scene.client("2", 4), scene.client("p", 4)
    first.subscribe("a")
    publisher.publish("a", b"1")
    publisher.publish("a", b"2")
    second.subscribe("a")
    publisher.publish("a", b"3")
    first.unsubscribe("a")
    publisher.publish("a", b"4")
    assert first.payloads() == [b"1", b"2", b"3"]
    assert second.payloads() == [b"3", b"4"]


def test_a_length_in_more_bytes_than_it_needs_is_not_taken_for_the_usual_packet():
    scene = Scene()
    receiver, publisher = scene.client("receiver", 4), scene.client("publisher", 4)
    receiver.subscribe("#")
    publisher.publish("a", b"1")
    publisher.publish("a", b"2")
    # Taken for the usual packet, 0x84 would be the length of all that follows. It is the first byte of a length of 4.
    publisher.send_bytes(b"\x30\x84\x00\x01a" + b"x" * (0x84 - 3))
    assert receiver.payloads() == [b"1", b"2"]
    assert publisher.ended


def test_mqtt_3_may_write_a_length_in_more_bytes_than_it_needs():
    scene = Scene()
    receiver, publisher = scene.client("receiver", 4), scene.client("publisher", 4)
    receiver.subscribe("a", 1)
    publisher.send_bytes(b"\x32\x86\x00\x00\x01a\x00\x05x" * 2 + b"\x30\x84\x00\x00\x01ay")
    publisher.send_bytes(b"\x62\x82\x00\x00\x05")
    assert b"".join(receiver.outlet.chunks) == b"\x32\x06\x00\x01a\x00\x01x\x32\x06\x00\x01a\x00\x02x\x30\x04\x00\x01ay"
    assert b"".join(publisher.outlet.chunks) == b"\x40\x02\x00\x05\x40\x02\x00\x05\x70\x02\x00\x05"


def test_mqtt_5_may_not_write_a_length_in_more_bytes_than_it_needs():
    scene = Scene()
    receiver, publisher = scene.client("receiver"), scene.client("publisher")
    receiver.subscribe("a")
    publisher.send_bytes(b"\x30\x85\x00\x00\x01a\x00x")
    assert publisher.take()[0].reason == Reason.MALFORMED_PACKET
    assert receiver.take() == []


def test_a_publish_without_room_for_its_properties_is_malformed_whatever_comes_after_it():
    scene = Scene()
    receiver, publisher = scene.client("receiver"), scene.client("publisher")
    receiver.subscribe("a")
    publisher.send_bytes(b"\x30\x03\x00\x01a\x00\x00")
    assert publisher.take()[0].reason == Reason.MALFORMED_PACKET
    assert receiver.take() == []


@pytest.mark.parametrize("limit", [20, 100, 1000, 20_000, 100_000])
@pytest.mark.parametrize("version", [4, 5])
def test_a_packet_over_the_limit_ends_the_connection_and_one_at_the_limit_does_not(limit, version):
    scene = Scene()
    receiver = scene.client("r", version)
    receiver.subscribe("a")
    scene.broker.limits = scene.broker.limits.__class__(packet_size=limit)
    publisher = scene.client("p", version)
    payload = next(
        b"x" * size for size in range(limit, 0, -1) if len(encode(Publish("a", b"x" * size), version)) <= limit
    )
    publisher.publish("a", payload)
    publisher.publish("a", payload)
    assert receiver.payloads() == [payload, payload]
    publisher.publish("a", payload + b"x")
    assert publisher.ended
    assert receiver.take() == []
    if version == 5:
        assert publisher.take()[0].reason == Reason.PACKET_TOO_LARGE


def test_packet_identifier_0_within_a_run_is_an_error_after_what_came_before_it():
    scene = Scene()
    receiver, publisher = scene.client("r", 5), scene.client("p", 5)
    receiver.subscribe("a", 1)
    publisher.send_bytes(b"".join(b"\x32\x07\x00\x01a" + bytes((0, i, 0, i)) for i in (1, 2, 0, 4)))
    assert receiver.payloads() == [b"\x01", b"\x02"]
    *answers, goodbye = publisher.take()
    assert [answer.packet_id for answer in answers] == [1, 2]
    assert goodbye.reason == Reason.PROTOCOL_ERROR


def test_a_packet_that_will_be_too_large_is_refused_before_it_is_complete():
    scene = Scene(packet_size=1000)
    publisher = scene.client("p")
    publisher.send_bytes(b"\x30\xe8\x07")
    assert publisher.take()[0].reason == Reason.PACKET_TOO_LARGE


def test_mqtt_3_1_may_mark_a_qos_0_message_as_a_duplicate():
    scene = Scene()
    receiver, publisher = scene.client("r", 4), scene.client("p", 3)
    receiver.subscribe("a")
    publisher.send_bytes(b"\x38\x04\x00\x01ax")
    assert receiver.messages() == [Publish("a", b"x")]


def test_mqtt_3_1_may_mark_pubrel_as_a_duplicate():
    scene = Scene()
    publisher = scene.client("p", 3)
    publisher.publish("a", b"x", 2, packet_id=7)
    publisher.send_bytes(b"\x6a\x02\x00\x07\x6a\x02\x00\x08")
    assert [packet.packet_id for packet in publisher.take()] == [7, 8]
