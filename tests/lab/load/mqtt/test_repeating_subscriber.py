"""Subscribers to packets that come over and over count every message, in whatever pieces the bytes arrive."""

import select

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.lab.load import Address, Group, Plan
from heliograph.lab.load.link import Link
from heliograph.lab.load.mqtt.packet_cycle import PacketCycle, marked_payload
from heliograph.lab.load.mqtt.repeating_subscriber import RepeatingSubscriber, RepeatingSubscribers
from heliograph.mqtt import ConnAck, PubAck, Publish, PubRec, SubAck, decode, encode, packet_bounds

COUNT = 20  # packets of a cycle
SENT = 33  # messages of each publisher
CASES = [(0, 1), (1, 1), (2, 1), (0, 3), (1, 3)]  # QoS, and how many publishers


class Paper(Link):
    """A link that keeps what is written to it."""

    __slots__ = ("written",)

    def __init__(self) -> None:
        self._pending = b""
        self.written = b""

    def write(self, data: bytes | memoryview, *, lasting: bool = False) -> None:
        self.written += data


def packet(publisher: int, number: int, qos: int, identifier: int = 0) -> bytes:
    payload = marked_payload(publisher, number % COUNT, 24)
    return encode(Publish(f"t/{publisher}", payload, qos, packet_id=identifier), 4)


def subscriber(qos: int, publishers: int) -> tuple[RepeatingSubscribers, RepeatingSubscriber, Paper]:
    cycles = [PacketCycle([packet(publisher, n, qos) for n in range(COUNT)]) for publisher in range(publishers)]
    group = Group("subscriber", "consume", 1, filters=("#",), qos=qos)
    clients = RepeatingSubscribers(Plan((group,), 1.0), 0, Address(1), select.epoll(), cycles)
    clients.make_link = Paper  # type: ignore[method-assign]
    client = clients.make_client(0, 0)
    assert isinstance(client.link, Paper)
    return clients, client, client.link


def feed(client: RepeatingSubscriber, data: bytes, cuts: list[int]) -> None:
    """As a link does: what was not used comes again in front of the next piece."""
    kept = b""
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        view = memoryview(bytearray(kept + data[start:end]))
        kept = bytes(view[client.feed(view, 1) :])
    assert not kept


def stream(qos: int, publishers: int) -> bytes:
    """CONNACK, SUBACK, and the messages of all publishers in turn."""
    order = [(publisher, number) for number in range(SENT) for publisher in range(publishers)]
    messages = [packet(*one, qos, at + 1 if qos else 0) for at, one in enumerate(order)]
    return encode(ConnAck(), 4) + encode(SubAck(1, (qos,)), 4) + b"".join(messages)


@pytest.mark.parametrize(("qos", "publishers"), CASES)
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_every_message_is_counted_and_acknowledged_once(qos, publishers, data):
    clients, client, link = subscriber(qos, publishers)
    sent = stream(qos, publishers)
    feed(client, sent, sorted(data.draw(st.lists(st.integers(0, len(sent)), max_size=12))))
    clients.collect()
    assert clients.meter.received == client.received == SENT * publishers
    assert (clients.meter.duplicates, clients.meter.reordered, clients.meter.errors) == (0, 0, 0)
    if qos:
        kind = PubAck if qos == 1 else PubRec
        assert acknowledged(link.written) == [kind(number + 1) for number in range(SENT * publishers)]


def acknowledged(written: bytes) -> list[object]:
    found, at = [], 0
    while bounds := packet_bounds(written, at, 1 << 20):
        found.append(decode(written[at], written[bounds[0] : bounds[1]], 4))
        at = bounds[1]
        if at == len(written):
            break
    return [one for one in found if isinstance(one, PubAck | PubRec)]


@pytest.mark.parametrize(("qos", "publishers"), CASES)
def test_what_comes_twice_and_what_is_nobodys_is_told(qos, publishers):
    clients, client, _link = subscriber(qos, publishers)
    strange = encode(Publish("t/0", b"who is this", qos, packet_id=7 if qos else 0), 4)
    feed(client, stream(qos, publishers) + packet(0, SENT - 1, qos, 9 if qos else 0) + strange, [])
    clients.collect()
    assert (clients.meter.received, clients.meter.duplicates) == (SENT * publishers + 1, 1)
    assert clients.meter.errors == 1


def test_a_queue_with_one_consumer_is_one_stream_and_one_with_several_is_shared():
    from heliograph.lab.load.amqp.client import AmqpClientGroup

    alone = Group("alone", "consume", 2, protocol="amqp", filters=("queue://own.{client}",), qos=1)
    several = Group("several", "consume", 2, protocol="amqp", filters=("queue://one",), qos=1)
    plan = Plan((alone, several), 1.0)
    groups = [AmqpClientGroup(plan, index, 0, Address(1), select.epoll()) for index in range(2)]
    for group in groups:
        group.receiver(0)
    assert [len(group.shares) for group in groups] == [0, 1]


def test_of_a_run_only_those_that_are_ours_count():
    from heliograph.lab.load.amqp.client import AmqpClientGroup

    putting = Group("putting", "publish", 1, protocol="amqp", destination="queue://q", qos=1)
    getting = Group("getting", "consume", 1, protocol="amqp", filters=("queue://q",), qos=1)
    group = AmqpClientGroup(Plan((putting, getting), 1.0), 1, 0, Address(1), select.epoll())
    rows = np.zeros(5, [("sender", "<u4"), ("sequence", "<i8"), ("due", "<i8"), ("sent", "<i8")])
    rows["sequence"] = range(5)
    rows["sender"][2] = 9
    group.take(group.receiver(0), 0, rows, 500, 1)
    group.collect()
    assert (group.meter.received, group.meter.errors, group.meter.bytes_received) == (4, 1, 400)
