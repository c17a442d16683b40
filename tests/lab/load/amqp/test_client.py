"""An AMQP end takes bytes in whatever pieces they come, counts what they say and accepts what it has to."""

import select
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.amqp import (
    Accepted,
    Attached,
    Authenticate,
    Connection,
    Delivery,
    Event,
    Opened,
    Options,
    Receiver,
    Sender,
    Settled,
    Transfers,
)
from heliograph.amqp.messages.message import Data, Message, decode_message, encode_message
from heliograph.errors import Problem
from heliograph.lab.load import Address, Group, Plan, group_from, payloads
from heliograph.lab.load.amqp.client import AmqpClientGroup, AmqpLoadClient
from heliograph.lab.load.amqp.session import AmqpInFlight
from heliograph.lab.load.link import Link

NOW = 10**15


class Paper(Link):
    """A link that keeps what is written to it."""

    __slots__ = ("written",)

    def __init__(self) -> None:
        self._pending = b""
        self.written = b""

    def write(self, data: bytes | memoryview) -> None:
        self.written += data


class Peers:
    """An end and the engine as its broker, without a network in between."""

    def __init__(self, **group: Any) -> None:
        senders = Group("senders", "publish", 3, protocol="amqp", destination="queue://q", rate=1.0)
        other = group_from({"name": "other", "clients": 1, "protocol": "amqp", "qos": 1, **group})
        client_group = AmqpClientGroup(Plan((senders, other), 1.0), 1, 0, Address(1), select.epoll())
        self.paper = Paper()
        self.end = AmqpLoadClient(client_group, 0, self.paper, NOW)
        self.broker = Connection(Options("broker", mechanisms=("ANONYMOUS",)), server=True)
        self.source: Sender | None = None
        self.target: Receiver | None = None
        self.accepted: list[int] = []
        self.deliveries: list[Delivery] = []
        self._kept = b""
        self.end.opened(NOW)
        while self.paper.written:
            self.to_broker()
            self.to_end([1 << 20])
        assert self.end.ready

    def to_broker(self) -> None:
        data, self.paper.written = self.paper.written, b""
        events = self.broker.receive(data, 0.0)
        while events:
            event = events.pop(0)
            if isinstance(event, Authenticate):
                events = self.broker.authenticated(True) + events
            self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, Opened):
            self.broker.open()
        elif isinstance(event, Attached):
            event.link.accept()
            if isinstance(event.link, Sender):
                self.source = event.link
            else:
                self.target = event.link  # type: ignore[assignment]
                event.link.flow(1000)  # type: ignore[union-attr]
        elif isinstance(event, Settled):
            assert isinstance(event.state, Accepted)
            self.accepted += range(event.first, event.last + 1)
        elif isinstance(event, Transfers):
            self.deliveries += event.deliveries

    def to_end(self, cuts: list[int]) -> int:
        """Hand over what the broker says, in pieces of these sizes; how many bytes that were."""
        self.broker.flush()
        data, self.broker.output = b"".join(self.broker.output), []
        at = turn = 0
        while at < len(data):
            piece = self._kept + data[at : at + cuts[turn % len(cuts)]]
            at, turn = at + cuts[turn % len(cuts)], turn + 1
            self._kept = piece[self.end.feed(memoryview(piece), NOW) :]
        assert self._kept == b""
        return len(data)


def message(sender: int, sequence: int, more: int = 0, subject: str | None = None) -> bytes:
    mark = payloads.HEADER.pack(payloads.MAGIC, 0, sender, sequence, NOW - 1000, NOW - 500)
    return encode_message(Message(Data(mark + b"." * more), subject=subject))


messages = st.lists(
    st.tuples(
        st.integers(0, 2),  # sender
        st.integers(0, 50),  # sequence
        st.sampled_from([0, 0, 0, 3, 300, 150_000]),  # bytes after the header
        st.sampled_from([None, None, "one", "two", "three"]),
        st.integers(1, 30),  # how often, with the sequence counting up
    ),
    max_size=12,
)


@settings(max_examples=30, deadline=None)
@given(messages, st.lists(st.integers(1, 9000), min_size=1, max_size=5))
def test_deliveries_are_counted_and_accepted_however_they_are_cut(
    wanted: list[tuple[int, int, int, str | None, int]], cuts: list[int]
) -> None:
    peers = Peers(role="consume", filters=["queue://q"])
    assert peers.source is not None
    sent = []
    for sender, sequence, more, subject, repeats in wanted:
        for step in range(min(repeats, 2) if more > 1000 else repeats):
            sent.append((sender, sequence + step))
            peers.source.send([message(sender, sequence + step, more, subject)])
    length = peers.to_end([max(cut, 500) for cut in cuts] if len(sent) > 200 else cuts)
    peers.to_broker()
    assert peers.accepted == list(range(len(sent)))
    client_group = peers.end.client_group
    client_group.collect()
    interval = client_group.meter.take(0)
    assert (interval.received, interval.bytes_received, interval.errors) == (len(sent), length, 0)
    assert interval.duplicates == len(sent) - len(set(sent))
    for kind, latency in (("message", 1000), ("service", 500)):
        histogram = interval.latencies.get(kind)
        assert (histogram.sum_ns if histogram else 0) == latency * len(sent)


def test_messages_of_others_are_errors_and_are_accepted_all_the_same() -> None:
    peers = Peers(role="consume", filters=["queue://q"])
    assert peers.source is not None
    strange = [encode_message(Message(Data(b"short"))), encode_message(Message(Data(b"?" * 100)))]
    peers.source.send([message(0, 0), *strange, message(0, 1)])
    peers.to_end([1 << 20])
    peers.to_broker()
    interval = peers.end.client_group.meter.take(0)
    assert (interval.received, interval.errors, len(peers.accepted)) == (2, 2, 4)


@pytest.mark.parametrize("size", [32, 256, 200_000])
@pytest.mark.parametrize("count", [1, 9])
def test_what_is_sent_is_what_the_plan_says(size: int, count: int) -> None:
    peers = Peers(
        role="publish",
        destination="topic://t/{topic}",
        topics=2,
        persistent=True,
        window=100,
        payload=size,
        properties=1,
    )
    end = peers.end
    due = np.arange(count) + NOW
    at = 0
    while at < count:
        at += end.send(due[at : at + end.room()], NOW + 50)
    peers.to_broker()
    found = [decode_message(delivery.payload) for delivery in peers.deliveries]
    assert [one.to for one in found] == [f"topic://t/{number % 2}" for number in range(count)]
    assert all(one.durable and one.application_properties == {"name_00": "value_00"} for one in found)
    bodies = [one.body.content for one in found if isinstance(one.body, Data)]
    assert {len(body) for body in bodies} == {size}
    marks = [payloads.HEADER.unpack_from(body) for body in bodies]
    assert marks == [(payloads.MAGIC, 1, n % 2, n // 2, NOW + n, NOW + 50) for n in range(count)]
    assert end.outstanding() == count
    assert peers.target is not None
    for delivery in peers.deliveries:  # one by one, as some brokers do
        peers.target.settle(delivery.number, delivery.number, Accepted())
        peers.broker.flush()
    peers.to_end([1 << 20])
    assert end.outstanding() == 0
    assert end.client_group.meter.take(0).acknowledged == count


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 60), st.integers(0, 20)), max_size=60))
def test_whatever_is_settled_in_whatever_order_frees_the_window(steps: list[tuple[int, int, int]]) -> None:
    flight, in_flight = AmqpInFlight(50), set[int]()
    for now, (wanted, start, length) in enumerate(steps, 1):
        count = min(wanted, flight.room())
        if count:
            first = flight.begin(count, now)
            in_flight |= set(range(first, first + count))
        flight.skip()
        low = max(0, flight.next - 1 - start)
        high = min(low + length, flight.next - 1)
        took = flight.end(low, high, 1000)
        assert len(took) == len(in_flight & set(range(low, high + 1)))
        in_flight -= set(range(low, high + 1))
        assert flight.count == len(in_flight)


def test_transactions_need_acknowledgements() -> None:
    with pytest.raises(Problem, match="needs qos 1"):
        Peers(role="publish", destination="queue://q", qos=0, transaction=5)
