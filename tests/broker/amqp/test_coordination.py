"""The coordinator: what clients ask of it, and what it says."""

import pytest

from broker.amqp.amqp_clients import text, within
from broker.queue_scenes import texts
from heliograph.amqp import Accepted, Coordinator, Declare, Discharge, Rejected, Source
from heliograph.amqp.messages.message import Message, Value, encode_message


def test_the_commit_is_answered_when_it_is_safe(scene, client):
    control, link = client.coordinator(), client.sender("q")
    txn = client.declare(control)
    client.send(link, text("a", durable=True), state=within(txn))
    with scene.held():
        numbers = control.send([encode_message(Message(Value(Discharge(txn))))])
        assert client.outcomes(control, numbers) == []
    assert client.outcomes(control, numbers) == [Accepted()]


def test_the_next_transaction_may_be_declared_right_behind_the_discharge(client, queue):
    control, link = client.coordinator(), client.sender("q")
    txn = client.declare(control)
    client.send(link, text("a", durable=True), state=within(txn))
    numbers = control.send([encode_message(Message(Value(Discharge(txn)))), encode_message(Message(Value(Declare())))])
    committed, declared = client.outcomes(control, numbers)
    assert committed == Accepted()
    assert declared.txn_id != txn
    client.send(link, text("b"), state=within(declared.txn_id))
    client.discharge(control, declared.txn_id)
    assert sorted(texts(queue.browse())) == ["a", "b"]


def test_a_transaction_cannot_end_twice(client):
    control = client.coordinator()
    txn = client.declare(control)
    client.discharge(control, txn)
    assert client.discharge(control, txn).error.condition == "amqp:transaction:unknown-id"


def test_a_commit_that_cannot_be_is_rolled_back(scene, client):
    scene.queue("gone")
    control, link = client.coordinator(), client.sender("gone")
    txn = client.declare(control)
    client.send(link, text("a"), state=within(txn))
    scene.broker.queues.delete("gone")
    outcome = client.discharge(control, txn)
    assert isinstance(outcome, Rejected)
    assert outcome.error.condition == "amqp:transaction:rollback"


def test_a_client_that_does_not_know_rejected_loses_the_link_instead(client):
    control = client.coordinator(source=Source(outcomes=("amqp:accepted:list",)))
    control.send([encode_message(Message(Value(Discharge(b"?"))))])
    assert client.refusal(control).condition == "amqp:transaction:unknown-id"


@pytest.mark.parametrize("request_body", ["nonsense", 3, Declare(global_id=b"xa")])
def test_a_coordinator_rejects_what_it_does_not_know(client, request_body):
    (outcome,) = client.send(client.coordinator(), encode_message(Message(Value(request_body))))
    assert isinstance(outcome, Rejected)


def test_a_coordinator_says_what_it_can_do(client):
    control = client.coordinator()
    assert isinstance(control.target, Coordinator)
    assert "amqp:local-transactions" in control.target.capabilities


def test_a_coordinator_gives_credit_again_and_again(client):
    control = client.coordinator()
    for _ in range(3):
        for _ in range(80):
            client.discharge(control, client.declare(control), fail=True)
    assert client.connection.transactions.open == {}


def test_what_is_no_message_is_rejected_and_the_link_stays(client):
    control = client.coordinator()
    (outcome,) = client.send(control, b"nonsense")
    assert isinstance(outcome, Rejected)
    assert client.declare(control)


def test_transactions_end_with_their_coordinator_and_others_go_on(client, queue):
    first, second, link = client.coordinator(), client.coordinator(), client.sender("q")
    gone, stays = client.declare(first), client.declare(second)
    client.send(link, text("a"), state=within(gone))
    client.send(link, text("b"), state=within(stays))
    first.detach(closed=True)
    client.scene.run()
    assert list(client.connection.transactions.open) == [stays]
    client.discharge(second, stays)
    assert texts(queue.browse()) == ["b"]


def test_without_memory_there_is_no_transaction(scene, client):
    control = client.coordinator()
    scene.broker.memory.set_limit(1)
    (outcome,) = client.send(control, encode_message(Message(Value(Declare()))))
    assert outcome.error.condition == "amqp:resource-limit-exceeded"
