"""A load counts exactly what a broker lost, repeated, reordered or made up."""

import os

import pytest

from heliograph.lab.bench import closed_loop
from heliograph.lab.bench.bench_case import BenchCase, BenchEffort, BenchOutcome, BrokerSite
from heliograph.lab.bench.connections import AT_ONCE, Idle, Visits
from heliograph.lab.bench.latency import Latency
from heliograph.lab.bench.throughput import Throughput
from heliograph.lab.errors import BrokerGone
from heliograph.lab.load import Address
from heliograph.lab.probes.broker_meter import BrokerMeter
from lab.bench.accounts import accounts, assert_all_delivered
from lab.scripted.packet_broker import PacketBroker
from lab.scripted.server import Script, faithful, swapping

ONE_TO_ONE = [Throughput(name=f"qos{qos}", about="", qos=qos, window=40) for qos in (0, 1, 2)]
SHAPES = [
    *ONE_TO_ONE,
    Throughput(name="fan-in", about="", publishers=5, window=1),
    Throughput(name="fan-in-qos1", about="", publishers=5, window=1, qos=1),
    Throughput(name="fan-out", about="", subscribers=3, window=40),
    Throughput(name="durable", about="", durable=True, qos=1, window=40),
    Throughput(name="lengths", about="", payload=(16, 60), topics=5, window=40),
]


def measure(case: BenchCase, script: Script = faithful) -> BenchOutcome:
    with PacketBroker(script) as broker:
        return case.measure(BrokerSite(Address(broker.port), BrokerMeter(os.getpid()), BenchEffort(0.1, 1, 120)))


@pytest.mark.parametrize("case", SHAPES, ids=lambda case: case.name)
def test_a_faithful_broker_loses_nothing(case):
    outcome = measure(case)
    assert_all_delivered(outcome)


@pytest.mark.parametrize("case", ONE_TO_ONE, ids=lambda case: case.name)
def test_dropped_messages_are_lost(case):
    outcome = measure(case, lambda number, packet: [] if number in {3, 4, 17} else [packet])
    assert accounts(outcome) == (3, 0, 0)


@pytest.mark.parametrize("case", ONE_TO_ONE, ids=lambda case: case.name)
def test_messages_delivered_twice_are_duplicates(case):
    outcome = measure(case, lambda number, packet: [packet, packet] if number in {3, 17} else [packet])
    assert accounts(outcome) == (0, 2, 0)


@pytest.mark.parametrize("case", ONE_TO_ONE, ids=lambda case: case.name)
def test_messages_out_of_order_are_neither(case):
    assert accounts(measure(case, swapping(3))) == (0, 0, 0)


def test_a_loss_in_fan_out_counts_for_every_subscriber():
    case = Throughput(name="fan-out", about="", subscribers=3, window=40)
    assert accounts(measure(case, lambda number, packet: [] if number == 3 else [packet])) == (3, 0, 0)


@pytest.mark.parametrize("qos", [0, 1])
def test_fan_in_tells_publishers_apart(qos):
    case = Throughput(name="fan-in", about="", publishers=5, window=1, qos=qos)
    twice = measure(case, lambda number, packet: [packet, packet] if number == 7 else [packet])
    assert accounts(twice) == (0, 1, 0)


def test_a_rewritten_packet_is_still_a_delivery():
    """MQTT 5 lets a broker add properties; the payload says which message it is."""
    case = Throughput(name="v5", about="", from_version="mqtt5", to_version="mqtt5", window=40)

    def add_property(number: int, packet: bytes) -> list[bytes]:
        if number % 3:
            return [packet]
        at = 4 + packet[3]
        return [packet[:1] + bytes([packet[1] + 2]) + packet[2:at] + b"\x02\x01\x00" + packet[at + 1 :]]

    outcome = measure(case, add_property)
    assert accounts(outcome) == (0, 0, 0)


def test_packets_that_have_no_place_are_strange():
    outcome = measure(ONE_TO_ONE[0], lambda number, packet: [packet, b"\xd0\x00"] if number == 5 else [packet])
    assert accounts(outcome) == (0, 0, 1)


def test_a_broker_that_goes_silent_is_not_waited_for_long(monkeypatch):
    monkeypatch.setattr(closed_loop, "SILENCE_SECONDS", 0.05)
    outcome = measure(ONE_TO_ONE[0], lambda number, packet: [packet] if number < 100 else [])
    assert 30 < outcome.lost <= 40  # it sends a quarter of the window at a time


def test_latency_has_percentiles():
    outcome = measure(Latency(name="latency", about="", rate=1000, other_rate=1000))
    assert accounts(outcome) == (0, 0, 0)
    assert 0 < outcome.figures["50P ms"] <= outcome.figures["99P ms"] <= outcome.figures["max ms"]


def test_idle_opens_as_many_connections_as_the_effort_allows():
    outcome = measure(Idle(name="idle", about="", connections=10_000))
    assert outcome.figures["connections"] == outcome.delivered == 120


def test_visits_are_counted_when_they_are_over():
    outcome = measure(Visits(name="visits", about=""))
    assert outcome.delivered > 0
    assert outcome.delivered % AT_ONCE == 0


def test_a_broker_that_is_not_there_is_said_so():
    with PacketBroker() as broker:
        pass
    with pytest.raises(BrokerGone, match=str(broker.port)):
        ONE_TO_ONE[0].measure(BrokerSite(Address(broker.port), BrokerMeter(os.getpid()), BenchEffort(0.1, 1, 120)))
