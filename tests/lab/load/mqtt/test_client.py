"""A client takes bytes in whatever pieces they come, counts what they say and acknowledges what it has to."""

import select
from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.lab.load import Address, Group, Plan, payloads
from heliograph.lab.load.link import Link
from heliograph.lab.load.mqtt.client import MqttClientGroup, MqttLoadClient
from heliograph.mqtt import ConnAck, PubAck, Publish, PubRel, SubAck, decode, encode, packet_bounds

NOW = 10**15


class Paper(Link):
    """A link that keeps what is written to it."""

    def __init__(self) -> None:
        self._pending = b""
        self.written = b""

    __slots__ = ("written",)

    def write(self, data: bytes | memoryview) -> None:
        self.written += data


def plan(qos: int, role: str) -> Plan:
    senders = Group("senders", "publish", 3, destination="t{client}", qos=qos, rate=1.0)
    other = Group("other", role, 1, protocol="mqtt5", destination="x", filters=("#",), qos=qos, window=100)  # type: ignore[arg-type]
    return Plan((senders, other), 1.0)


def ready_client(qos: int, role: str) -> tuple[MqttLoadClient, Paper]:
    client_group = MqttClientGroup(plan(qos, role), 1, 0, Address(1), select.epoll())
    link = Paper()
    client = MqttLoadClient(client_group, 0, link, NOW)
    client.opened(NOW)
    hello = encode(ConnAck(), 5) + (encode(SubAck(1, (qos,)), 5) if client_group.group.receives else b"")
    assert client.feed(memoryview(hello), NOW) == len(hello)
    assert client.ready
    link.written = b""
    return client, link


def packets(data: bytes) -> list[object]:
    found, at = [], 0
    while at < len(data):
        bounds = packet_bounds(data, at, 1 << 24)
        assert bounds is not None
        found.append(decode(data[at], data[bounds[0] : bounds[1]], 5))
        at = bounds[1]
    return found


messages = st.lists(
    st.tuples(
        st.integers(0, 2),  # sender
        st.integers(0, 50),  # sequence
        st.sampled_from([0, 0, 0, 3, 100]),  # bytes after the header
        st.sampled_from(["t", "t", "t", "long/topic"]),
        st.integers(1, 30),  # how often, with the sequence counting up
    ),
    max_size=20,
)


@settings(max_examples=40, deadline=None)
@given(messages, st.sampled_from([0, 1, 2]), st.lists(st.integers(1, 3000), min_size=1))
def test_deliveries_are_counted_and_acknowledged_however_they_are_cut(
    wanted: list[tuple[int, int, int, str, int]], qos: int, cuts: list[int]
) -> None:
    client, link = ready_client(qos, "consume")
    data, sent, packet_id = b"", [], 0
    for sender, sequence, more, topic, repeats in wanted:
        for step in range(repeats):
            packet_id += 1
            sent.append((sender, sequence + step))
            mark = payloads.HEADER.pack(payloads.MAGIC, 0, sender, sequence + step, NOW - 1000, NOW - 500)
            data += encode(Publish(topic, mark + b"." * more, qos, packet_id=packet_id if qos else 0), 5)
    at, turn, kept = 0, 0, b""
    while at < len(data):
        piece = kept + data[at : at + cuts[turn % len(cuts)]]
        at, turn = at + cuts[turn % len(cuts)], turn + 1
        kept = piece[client.feed(memoryview(piece), NOW) :]
    assert kept == b""
    client.client_group.collect()
    interval = client.client_group.meter.take(0)
    assert (interval.received, interval.bytes_received, interval.errors) == (len(sent), len(data), 0)
    assert interval.duplicates == len(sent) - len(set(sent))
    for kind, latency in (("message", 1000), ("service", 500)):
        histogram = interval.latencies.get(kind)
        assert (histogram.sum_ns if histogram else 0) == latency * len(sent)
    answers = [packet.packet_id for packet in packets(link.written)]  # type: ignore[attr-defined]
    assert answers == (list(range(1, packet_id + 1)) if qos else [])


def test_releases_are_completed_and_messages_of_others_are_errors() -> None:
    client, link = ready_client(2, "consume")
    data = b"".join(encode(PubRel(number), 5) for number in (3, 4, 9))
    data += encode(Publish("t", b"short", 0), 5) + encode(Publish("t", b"?" * 64, 0), 5)
    assert client.feed(memoryview(data), NOW) == len(data)
    assert Counter(type(packet).__name__ for packet in packets(link.written)) == {"PubComp": 3}
    assert client.client_group.meter.errors == 2


def test_a_window_closes_and_opens_with_acknowledgements_in_any_order() -> None:
    client, link = ready_client(1, "publish")
    assert client.room() == 100
    client.send(np.full(100, NOW), NOW)
    assert client.room() == 0
    ids = [packet.packet_id for packet in packets(link.written)]  # type: ignore[attr-defined]
    assert len(set(ids)) == 100
    for number in reversed(ids[50:]):
        client.feed(memoryview(encode(PubAck(number), 5)), NOW + 1000)
    assert client.room() == 50
    refused = encode(PubAck(ids[0], 0x97), 5)
    client.feed(memoryview(refused), NOW + 1000)
    unknown = encode(PubAck(ids[0]), 5)
    client.feed(memoryview(unknown), NOW + 1000)
    meter = client.client_group.meter
    assert (meter.acknowledged, meter.errors, client.outstanding()) == (51, 2, 49)
    histogram = meter.recorder("acknowledge").take()
    assert histogram is not None
    assert (histogram.min_ns, histogram.max_ns) == (1000, 1000)


def test_pings_are_spread_over_half_of_the_keep_alive() -> None:
    group = Group("quiet", "publish", 10, destination="t", rate=1.0, keep_alive=20)
    client_group = MqttClientGroup(Plan((group,), 1.0), 0, 0, Address(1), select.epoll())
    links = [Paper() for _ in range(10)]
    for number, link in enumerate(links):
        client = client_group.load_clients[number] = MqttLoadClient(client_group, number, link, NOW)
        client.ready = True
    second = 1_000_000_000
    assert client_group.ping(NOW) == NOW + second
    client_group.ping(NOW + 3 * second)
    assert [len(packets(link.written)) for link in links] == [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    client_group.ping(NOW + 12 * second)
    assert [len(packets(link.written)) for link in links] == [2, 2, 1, 1, 1, 1, 1, 1, 1, 1]
