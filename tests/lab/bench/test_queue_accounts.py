"""A load on queues counts exactly what a broker lost, repeated, reordered, refused or made up."""

import os

import pytest

from heliograph.lab.bench import closed_loop
from heliograph.lab.bench.bench_case import BenchCase, BenchEffort, BenchOutcome, BrokerSite
from heliograph.lab.bench.queue_cases import PutGet, RoundTrips, TopicFanOut
from heliograph.lab.load import Address, payloads
from heliograph.lab.probes.broker_meter import BrokerMeter
from heliograph.lab.targets.requirements import Door
from lab.bench.accounts import accounts, assert_all_delivered
from lab.scripted.queue_broker import QueueBroker
from lab.scripted.server import Script, faithful, swapping

ONE_TO_ONE = PutGet(name="put-get", about="", window=40)
LARGE = PutGet(name="large", about="", size=200_000, window=4)
REQUESTS = RoundTrips(name="request", about="", pairs=3, window=10)
SHAPES = [
    ONE_TO_ONE,
    LARGE,
    REQUESTS,
    RoundTrips(name="request-single", about="", pairs=2, window=1),
    PutGet(name="pairs", about="", pairs=3, window=8),
    PutGet(name="persistent", about="", persistent=True, window=40),
    PutGet(name="coloured", about="", coloured=True, window=40),
    PutGet(name="transacted", about="", commit=10, window=40),
    TopicFanOut(name="fan-out", about="", subscribers=3, window=40),
]


def measure(
    case: BenchCase, script: Script = faithful, refuse: frozenset[int] = frozenset(), **door: bool
) -> BenchOutcome:
    with QueueBroker(script, refuse) as broker:
        address = Address(broker.port)
        site = BrokerSite(address, BrokerMeter(os.getpid()), BenchEffort(0.1, 1, 120), doors=(Door(address, **door),))
        return case.measure(site)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(closed_loop, "SILENCE_SECONDS", 0.5)


@pytest.mark.parametrize("case", SHAPES, ids=lambda case: case.name)
def test_a_faithful_broker_loses_nothing(case):
    outcome = measure(case)
    assert_all_delivered(outcome)
    assert 0 < outcome.figures["ms on average"] <= outcome.figures["ms 99P"] * 1.01


@pytest.mark.parametrize("case", [ONE_TO_ONE, LARGE], ids=lambda case: case.name)
def test_dropped_messages_are_lost(case):
    outcome = measure(case, lambda number, payload: [] if number in {3, 4, 7} else [payload])
    assert accounts(outcome) == (3, 0, 0)


@pytest.mark.parametrize("case", [ONE_TO_ONE, LARGE], ids=lambda case: case.name)
def test_messages_delivered_twice_are_duplicates(case):
    outcome = measure(case, lambda number, payload: [payload, payload] if number in {3, 7} else [payload])
    assert accounts(outcome) == (0, 2, 0)


def test_messages_out_of_order_are_neither():
    assert accounts(measure(ONE_TO_ONE, swapping(3))) == (0, 0, 0)


def test_a_request_that_is_lost_has_no_answer():
    outcome = measure(REQUESTS, lambda number, payload: [] if number == 3 else [payload])
    assert accounts(outcome) == (1, 0, 0)


def test_a_request_that_comes_twice_is_a_duplicate():
    outcome = measure(REQUESTS, lambda number, payload: [payload, payload] if number == 3 else [payload])
    assert outcome.duplicates >= 1


def test_a_loss_in_fan_out_counts_for_every_subscription():
    case = TopicFanOut(name="fan-out", about="", subscribers=3, window=40)
    assert accounts(measure(case, lambda number, payload: [] if number == 3 else [payload])) == (3, 0, 0)


def test_what_another_one_has_put_is_strange():
    def rename(number: int, payload: bytes) -> list[bytes]:
        sender = len(payload) - ONE_TO_ONE.size + payloads.FIELDS["sender"]
        return [payload[:sender] + b"\x07\x00\x00\x00" + payload[sender + 4 :]] if number == 3 else [payload]

    assert accounts(measure(ONE_TO_ONE, rename)) == (1, 0, 1)


def test_what_the_broker_does_not_accept_is_strange_and_lost():
    outcome = measure(ONE_TO_ONE, refuse=frozenset({3}))
    assert accounts(outcome) == (1, 0, 1)


def test_a_commit_is_a_unit_of_work_where_the_broker_has_them():
    case = PutGet(name="transacted", about="", commit=10, window=40)
    with QueueBroker() as broker:
        address = Address(broker.port)
        outcome = case.measure(
            BrokerSite(address, BrokerMeter(os.getpid()), BenchEffort(0.1, 1, 120), doors=(Door(address),))
        )
    assert broker.committed > outcome.sent / 10  # those of the one who puts, and those of the one who gets
    assert outcome.note == ""


def test_a_commit_is_a_confirmed_batch_where_the_broker_has_none_and_that_is_said():
    outcome = measure(PutGet(name="transacted", about="", commit=10, window=40), transactions=False)
    assert accounts(outcome) == (0, 0, 0)
    assert outcome.delivered > 0
    assert outcome.note == "no transactions: 10 per confirmed batch"


def test_however_short_an_interval_something_goes_all_the_way_in_it():
    with QueueBroker() as broker:
        address = Address(broker.port)
        outcome = ONE_TO_ONE.measure(
            BrokerSite(address, BrokerMeter(os.getpid()), BenchEffort(0.0001, 1, 120), doors=(Door(address),))
        )
    assert outcome.delivered >= 2
    assert outcome.figures
