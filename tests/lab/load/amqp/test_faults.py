"""Against an AMQP peer that loses, doubles, swaps and refuses by a script, every fault is counted exactly."""

import pytest

from heliograph.lab.load import Address, Group, LoadOutcome, Plan, load_run, run_load
from lab.scripted.queue_broker import QueueBroker


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the script has dropped is not waited for very long."""
    monkeypatch.setattr(load_run, "SILENCE_SECONDS", 0.7)


def run(broker: QueueBroker, *groups: Group) -> LoadOutcome:
    with broker:
        return run_load(Plan(groups, 0.4), {"main": Address(broker.port)})


def test_what_a_peer_drops_doubles_swaps_and_refuses_is_counted_message_by_message() -> None:
    kept: list[bytes] = []

    def script(number: int, payload: bytes) -> list[bytes]:
        if number == 30:
            kept.append(payload)
            return []
        if number == 31:
            return [payload, kept.pop()]
        return {20: [], 21: [], 40: [payload] * 3}.get(number, [payload])

    put = Group("put", "publish", 1, protocol="amqp", destination="topic://t", qos=1, rate=1000.0)
    get = Group("get", "consume", 2, protocol="amqp", filters=("topic://t",), qos=1)
    outcome = run(QueueBroker(script, refuse=frozenset({50, 51})), put, get)
    sent, received = outcome.groups["put"], outcome.groups["get"]
    assert sent.sent > 100
    assert (sent.acknowledged, sent.errors) == (sent.sent - 2, 2)
    assert "lab:refused" in sent.first_error
    assert received.expected == 2 * sent.sent
    assert (received.lost, received.duplicates, received.reordered) == (2 * 4, 2 * 2, 2 * 1)


def test_messages_of_units_of_work_are_delivered_and_counted_after_the_commit() -> None:
    put = Group("put", "publish", 2, protocol="amqp", destination="queue://q", qos=1, transaction=10, rate=1230.0)
    get = Group("get", "consume", 1, protocol="amqp", filters=("queue://q",), qos=1, transaction=25)
    broker = QueueBroker(lambda number, payload: [payload] * 2 if number == 5 else [payload])
    outcome = run(broker, put, get)
    sent, received = outcome.groups["put"], outcome.groups["get"]
    assert sent.acknowledged == sent.sent > 100
    assert (received.lost, received.duplicates) == (0, 1)
    # The last unit of each sender is committed whatever is in it.
    full = sum(part.latencies["commit"].count for part in (sent, received))
    assert 0 < full <= broker.committed <= -(-sent.sent // 10) + 2 + received.received // 25


def test_an_answer_that_is_lost_is_missed() -> None:
    ask = Group(
        "ask", "request", 1, protocol="amqp", destination="queue://ask", reply="queue://back", qos=1, rate=300.0
    )
    answer = Group("answer", "respond", 1, protocol="amqp", filters=("queue://ask",), qos=1)
    dropped = 0

    def script(_number: int, payload: bytes) -> list[bytes]:
        nonlocal dropped
        if b"queue://back" in payload or dropped == 3:  # a request
            return [payload]
        dropped += 1
        return []

    outcome = run(QueueBroker(script), ask, answer)
    asked, answered = outcome.groups["ask"], outcome.groups["answer"]
    assert answered.received == answered.sent == asked.sent > 20
    assert (asked.lost, asked.duplicates, asked.received) == (3, 0, asked.sent - 3)


def test_a_client_that_loses_its_connection_comes_back_and_goes_on() -> None:
    put = Group("put", "publish", 2, protocol="amqp", destination="topic://t", qos=1, rate=1000.0)
    get = Group("get", "consume", 1, protocol="amqp", filters=("topic://t",), qos=1)
    outcome = run(QueueBroker(cut=frozenset({20, 60})), put, get)
    sent, received = outcome.groups["put"], outcome.groups["get"]
    assert sent.errors >= 2
    assert sent.latencies["connect"].count >= 4
    assert sent.sent > 100
    # The peer had taken what it did not answer any more; what was in progress to a closed socket is gone.
    assert sent.sent - sent.acknowledged > 0
    assert (received.received, received.duplicates) == (received.expected - received.lost, 0)
    assert received.lost < sent.sent - sent.acknowledged
