"""PUBLISH packets that come become runs of messages."""

import pytest

from heliograph.mqtt import MalformedPacket, Publish, encode
from heliograph.mqtt.client import Messages, Repeated
from heliograph.mqtt.client.arrivals import Arrivals
from mqtt.client.peer import packets_of


def taken(arrivals, *packets, version=5):
    """All these packets in one piece, taken as the session does it; the events."""
    data = b"".join(encode(packet, version) for packet in packets)
    at = 0
    while at < len(data):
        (first, *_) = packets_of(data[at:], version)
        end = at + len(encode(first, version))
        body = at + 2 if data[at + 1] < 0x80 else at + 3
        at = arrivals.take(data, at, body, end)
    return arrivals.events


def fresh(version=5, aliases=0, received=()):
    return Arrivals(1, version, aliases, set(received))


def described(events):
    return [(type(event), event.ids, getattr(event, "topic", ""), getattr(event, "payloads", [])) for event in events]


@pytest.mark.parametrize("sizes", [(3, 3, 3), (1, 200, 3)])
def test_messages_alike_are_one_run_whatever_their_lengths(sizes):
    sent = [Publish("t", b"x" * size, 1, packet_id=n) for n, size in enumerate(sizes, 5)]
    assert described(taken(fresh(), *sent)) == [(Messages, range(5, 8), "t", [b"x" * size for size in sizes])]


def test_another_topic_begins_another_run():
    sent = [Publish("a", b"1"), Publish("b", b"2"), Publish("a", b"3")]
    assert [event.topic for event in taken(fresh(), *sent)] == ["a", "b", "a"]


def test_identifiers_that_do_not_follow_each_other_are_a_list():
    sent = [Publish("t", b"x", 1, packet_id=n) for n in (5, 6, 9, 2)]
    (run,) = taken(fresh(), *sent)
    assert run.ids == [5, 6, 9, 2]
    one_by_one = [Publish("t", b"x" * n, 1, packet_id=n) for n in (5, 6, 9, 2)]
    (run,) = taken(fresh(), *one_by_one)
    assert run.ids == [5, 6, 9, 2]


def test_a_message_of_qos_2_that_was_given_before_is_repeated():
    arrivals = fresh(received=[6])
    sent = [Publish("t", b"x", 2, packet_id=n) for n in (5, 6, 7)]
    assert [type(event) for event in taken(arrivals, *sent)] == [Messages, Repeated, Messages]
    assert arrivals.unfinished == 3


def test_an_alias_stands_for_the_topic_that_was_sent_with_it():
    sent = [Publish("t", b"1", properties={"topic_alias": 1}), Publish("", b"2", properties={"topic_alias": 1})]
    assert [event.topic for event in taken(fresh(aliases=1), *sent)] == ["t"]


def test_after_the_end_of_a_run_equal_messages_are_another_one():
    arrivals = fresh()
    taken(arrivals, Publish("t", b"1"))
    arrivals.end_run()
    assert described(taken(arrivals, Publish("t", b"2"))) == [
        (Messages, range(0), "t", [b"1"]),
        (Messages, range(0), "t", [b"2"]),
    ]


def test_what_was_checked_before_is_forgotten_when_there_is_too_much_of_it(monkeypatch):
    monkeypatch.setattr("heliograph.mqtt.client.arrivals._MOST_KNOWN", 2)
    sent = [Publish(f"t/{n % 5}", b"x", properties={"content_type": str(n % 3)}) for n in range(20)]
    assert [event.topic for event in taken(fresh(), *sent)] == [packet.topic for packet in sent]


@pytest.mark.parametrize(
    "packet",
    [b"\x36\x05\0\1t\0\1", b"\x30\x01\0", b"\x38\x03\0\1t", b"\x30\x02\0\5", b"\x30\x03\0\1t", b"\x30\x04\0\1t\7"],
    ids=["QoS 3", "no topic", "DUP with QoS 0", "cut in its topic", "no properties", "cut in its properties"],
)
def test_packets_that_are_no_publish_are_malformed(packet):
    with pytest.raises(MalformedPacket):
        fresh().take(packet, 0, 2, len(packet))
