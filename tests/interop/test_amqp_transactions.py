"""Transactions of AMQP clients that nobody here wrote."""

from collections.abc import Callable

import pytest

from interop.amqp_letters import Letter
from interop.amqp_peers import Connect, PeerConnection, got, nothing, rest, take

Define = Callable[..., str]


@pytest.mark.parametrize("durable", [True, False])
def test_what_is_sent_in_a_transaction_is_seen_after_the_commit(
    connect_peer: Connect, queue: str, durable: bool
) -> None:
    connection = connect_peer()
    other = connect_peer().receiver(queue)
    coordinator, sender = connection.coordinator(), connection.sender(queue)
    txn = coordinator.declare()
    for number in range(3):
        assert sender.send(Letter(number, durable=durable), txn=txn).outcome == "accepted"
    assert nothing(other)
    assert coordinator.discharge(txn).outcome == "accepted"
    assert [take(other).body for _ in range(3)] == [0, 1, 2]


def test_what_is_sent_in_a_transaction_that_is_rolled_back_is_never_seen(
    connection: PeerConnection, queue: str
) -> None:
    coordinator = connection.coordinator()
    txn = coordinator.declare()
    connection.sender(queue).send(Letter("never"), txn=txn)
    assert coordinator.discharge(txn, fail=True).outcome == "accepted"
    assert rest(connection, queue) == []


@pytest.mark.parametrize("fail", [True, False])
def test_gets_and_puts_of_a_transaction_happen_together(
    connection: PeerConnection, queue: str, define: Define, fail: bool
) -> None:
    answers = define(f"{queue}.a")
    connection.sender(queue).send_all([Letter("one", durable=True), Letter("two", durable=True)])
    coordinator, receiver = connection.coordinator(), connection.receiver(queue)
    txn = coordinator.declare()
    sender = connection.sender(answers)
    for _ in range(2):
        delivery = got(receiver)
        delivery.settle(txn=txn)
        sender.send(Letter(f"answer to {delivery.letter.body}", durable=True), txn=txn)
    assert coordinator.discharge(txn, fail=fail).outcome == "accepted"
    receiver.close()
    assert rest(connection, queue) == (["one", "two"] if fail else [])
    assert rest(connection, answers) == ([] if fail else ["answer to one", "answer to two"])


def test_what_was_got_in_a_transaction_that_is_rolled_back_comes_again_and_counts(
    connection: PeerConnection, queue: str
) -> None:
    connection.sender(queue).send(Letter("again"))
    coordinator, receiver = connection.coordinator(), connection.receiver(queue)
    txn = coordinator.declare()
    got(receiver).settle(txn=txn)
    coordinator.discharge(txn, fail=True)
    assert take(receiver).delivery_count == 1


def test_transactions_of_two_clients_do_not_meet(connect_peer: Connect, queue: str) -> None:
    mine, other = connect_peer(), connect_peer()
    txns = [(connection.coordinator(), connection) for connection in (mine, other)]
    for coordinator, connection in txns:
        txn = coordinator.declare()
        connection.sender(queue).send(Letter("mine" if connection is mine else "other"), txn=txn)
        if connection is mine:
            kept = txn
        else:
            coordinator.discharge(txn, fail=True)
    txns[0][0].discharge(kept)
    assert rest(other, queue) == ["mine"]


def test_several_transactions_of_one_connection(connection: PeerConnection, queue: str) -> None:
    coordinator, sender = connection.coordinator(), connection.sender(queue)
    first, second = coordinator.declare(), coordinator.declare()
    assert first != second
    sender.send(Letter("first"), txn=first)
    sender.send(Letter("second"), txn=second)
    coordinator.discharge(second)
    coordinator.discharge(first, fail=True)
    assert rest(connection, queue) == ["second"]


def test_a_lost_connection_rolls_back(connect_peer: Connect, queue: str) -> None:
    other = connect_peer()
    other.sender(queue).send(Letter("got", durable=True))
    lost = connect_peer()
    txn = lost.coordinator().declare()
    got(lost.receiver(queue)).settle(txn=txn)
    lost.sender(queue).send(Letter("sent", durable=True), txn=txn)
    lost.cut()
    receiver = other.receiver(queue)
    letter = take(receiver)
    assert (letter.body, letter.delivery_count) == ("got", 1)
    assert nothing(receiver)


def test_the_end_of_the_coordinator_link_rolls_back(connection: PeerConnection, queue: str) -> None:
    coordinator = connection.coordinator()
    txn = coordinator.declare()
    connection.sender(queue).send(Letter("never"), txn=txn)
    coordinator.close()
    assert rest(connection, queue) == []
    assert connection.sender(queue).send(Letter("late"), txn=txn).condition == "amqp:transaction:unknown-id"


def test_a_transaction_that_is_over_is_unknown(connection: PeerConnection, queue: str) -> None:
    coordinator = connection.coordinator()
    txn = coordinator.declare()
    coordinator.discharge(txn)
    assert coordinator.discharge(txn).condition == "amqp:transaction:unknown-id"
    assert connection.sender(queue).send(Letter("late"), txn=txn).condition == "amqp:transaction:unknown-id"


def test_a_commit_that_cannot_be_done_is_rolled_back(connection: PeerConnection, queue: str, define: Define) -> None:
    small = define(f"{queue}.s", max_depth=2)
    coordinator, sender = connection.coordinator(), connection.sender(small)
    txn = coordinator.declare()
    outcomes = [sender.send(Letter(number), txn=txn) for number in range(3)]
    ended = coordinator.discharge(txn)
    refused = [outcome.condition for outcome in outcomes if outcome.condition]
    assert refused == ["amqp:resource-limit-exceeded"] or ended.condition == "amqp:transaction:rollback"
    if ended.condition:
        assert rest(connection, small) == []


def test_what_was_sent_settled_in_a_transaction_belongs_to_it(connection: PeerConnection, queue: str) -> None:
    coordinator, sender = connection.coordinator(), connection.sender(queue, settled=True)
    for fail in (True, False):
        txn = coordinator.declare()
        sender.send(Letter(fail), txn=txn)
        coordinator.discharge(txn, fail=fail)
    assert rest(connection, queue) == [False]


def test_what_is_released_or_rejected_in_a_transaction(connection: PeerConnection, queue: str, define: Define) -> None:
    dead = define(f"{queue}.d")
    failing = define(f"{queue}.f", dead_letter_queue=dead)
    connection.sender(failing).send_all([Letter("rejected"), Letter("released")])
    coordinator, receiver = connection.coordinator(), connection.receiver(failing, credit=2)
    txn = coordinator.declare()
    first, second = got(receiver), got(receiver)
    first.settle("rejected", txn=txn)
    second.settle("released", txn=txn)
    assert coordinator.discharge(txn).outcome == "accepted"
    receiver.close()
    assert (rest(connection, failing), rest(connection, dead)) == (["released"], ["rejected"])


def test_a_transaction_over_sessions(connection: PeerConnection, queue: str) -> None:
    coordinator = connection.coordinator()
    txn = coordinator.declare()
    for number in range(2):
        connection.session().sender(queue).send(Letter(number), txn=txn)
    coordinator.discharge(txn)
    assert rest(connection, queue) == [0, 1]


def test_a_thousand_messages_in_a_transaction(connection: PeerConnection, queue: str) -> None:
    coordinator, sender = connection.coordinator(), connection.sender(queue)
    txn = coordinator.declare()
    for number in range(1000):
        sender.send(Letter(number, durable=True), txn=txn)
    assert coordinator.discharge(txn).outcome == "accepted"
    receiver = connection.receiver(queue, credit=1000)
    assert [take(receiver).body for _ in range(1000)] == list(range(1000))
