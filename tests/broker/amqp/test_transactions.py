"""Transactions: all of it or nothing, for sending and receiving alike."""

import pytest

from broker.amqp.amqp_clients import body, text, within
from heliograph.amqp import Accepted, Released, Settled, Target
from heliograph.amqp.messages.message import decode_message


def waiting(client):
    """What another consumer could get now, and how often its delivery has failed."""
    other = client.scene.amqp("other")
    found = [(body(m.payload), decode_message(m.payload).delivery_count) for m in other.messages(other.receiver("q"))]
    other.engine.close()
    client.scene.run()
    return found


def test_what_was_sent_is_there_after_the_commit_and_not_before(client, queue):
    control, link = client.coordinator(), client.sender("q")
    txn = client.declare(control)
    assert client.send(link, text("a"), text("b"), state=within(txn)) == [within(txn, Accepted())] * 2
    assert waiting(client) == []
    assert client.discharge(control, txn) == Accepted()
    assert waiting(client) == [("a", 0), ("b", 0)]


def test_what_was_sent_is_forgotten_when_it_is_rolled_back(client, queue):
    control, link = client.coordinator(), client.sender("q")
    txn = client.declare(control)
    client.send(link, text("a"), state=within(txn))
    assert client.discharge(control, txn, fail=True) == Accepted()
    assert queue.depth == 0


def test_what_was_received_is_gone_after_the_commit(client, queue):
    client.send(client.sender("q"), text("a", durable=True))
    control, link = client.coordinator(), client.receiver("q")
    (delivery,) = client.messages(link)
    txn = client.declare(control)
    link.settle(delivery.number, delivery.number, within(txn, Accepted()))
    client.scene.run()
    assert queue.depth == 1
    assert client.discharge(control, txn) == Accepted()
    assert queue.depth == 0


def test_what_was_received_comes_again_after_a_roll_back_and_the_attempt_counts(client, queue):
    client.send(client.sender("q"), text("a"))
    control, link = client.coordinator(), client.receiver("q", credit=1)
    (delivery,) = client.messages(link)
    txn = client.declare(control)
    link.settle(delivery.number, delivery.number, within(txn, Accepted()))
    client.discharge(control, txn, fail=True)
    link.flow(1)
    (again,) = client.messages(link)
    assert decode_message(again.payload).delivery_count == 1


def test_a_release_in_a_transaction_counts_from_the_commit_on(client, queue):
    client.send(client.sender("q"), text("a"))
    control, link = client.coordinator(), client.receiver("q", credit=1)
    (delivery,) = client.messages(link)
    txn = client.declare(control)
    link.settle(delivery.number, delivery.number, within(txn, Released()))
    assert waiting(client) == []
    client.discharge(control, txn)
    assert waiting(client) == [("a", 0)]


def test_a_client_may_have_several_transactions(client):
    control, link = client.coordinator(), client.sender("q")
    first, second = client.declare(control), client.declare(control)
    client.send(link, text("a"), state=within(first))
    client.send(link, text("b"), state=within(second))
    client.discharge(control, second)
    client.discharge(control, first, fail=True)
    assert waiting(client) == [("b", 0)]


def test_a_transaction_may_span_queues_and_messages_that_say_where_they_go(scene, client):
    other = scene.queue("other")
    control, link = client.coordinator(), client.sender(Target())
    txn = client.declare(control)
    client.send(link, text("a", to="q"), text("b", to="other"), state=within(txn))
    assert other.peek() is None
    client.discharge(control, txn)
    assert body(other.peek().payload) == "b"


def test_a_message_in_a_transaction_that_is_not_there_is_rejected(client, queue):
    (outcome,) = client.send(client.sender("q"), text("a"), state=within(b"?"))
    assert outcome.error.condition == "amqp:transaction:unknown-id"
    assert queue.depth == 0


@pytest.mark.parametrize("end", ["link", "session", "connection", "network"])
def test_what_was_not_committed_is_rolled_back_when_the_client_goes(scene, client, queue, end):
    client.send(client.sender("q"), text("got"))
    session = client.engine.begin()
    control, sender = client.coordinator(session=session), client.sender("q", session=session)
    link = client.receiver("q", session=session, credit=1)
    (delivery,) = client.messages(link)
    txn = client.declare(control)
    client.send(sender, text("sent"), state=within(txn))
    link.settle(delivery.number, delivery.number, within(txn, Accepted()))
    scene.run()
    match end:
        case "link":
            control.detach()
        case "session":
            session.end()
        case "connection":
            client.engine.close()
        case "network":
            client.lose()
    scene.run()
    assert waiting(client) == [("got", 1)]


@pytest.mark.parametrize("end", ["link", "session", "connection", "network"])
def test_what_a_client_had_accepted_when_it_went_gets_one_more_chance_than_the_threshold(scene, end):
    """It may have had others in the same unit of work that killed it."""
    queue = scene.queue("q2", backout_threshold=1)
    scene.broker.queues.put([queue], [text("a")])
    for turn in range(2):
        assert (queue.depth, queue.in_flight) == (1, 0)
        client = scene.amqp(f"client{turn}")
        session = client.engine.begin()
        control, link = client.coordinator(session=session), client.receiver("q2", session=session, credit=1)
        (delivery,) = client.messages(link)
        txn = client.declare(control)
        link.settle(delivery.number, delivery.number, within(txn, Accepted()))
        scene.run()
        {"link": control.detach, "session": session.end, "connection": client.engine.close, "network": client.lose}[
            end
        ]()
        scene.run()
    assert queue.depth == 0


def test_what_a_client_rolls_back_itself_is_put_away_at_the_threshold(scene, client):
    queue = scene.queue("q2", backout_threshold=1)
    client.send(client.sender("q2"), text("a"))
    control, link = client.coordinator(), client.receiver("q2", credit=1)
    (delivery,) = client.messages(link)
    txn = client.declare(control)
    link.settle(delivery.number, delivery.number, within(txn, Accepted()))
    client.discharge(control, txn, fail=True)
    assert queue.depth == 0


def test_settling_in_a_transaction_that_is_not_there_changes_nothing(client, queue):
    client.send(client.sender("q"), text("a"))
    link = client.receiver("q", credit=1)
    (delivery,) = client.messages(link)
    link.settle(delivery.number, delivery.number, within(b"?", Accepted()))
    client.scene.run()
    client.take(Settled)
    assert waiting(client) == [("a", 0)]


def test_a_consumer_may_leave_before_its_transaction_ends(client, queue):
    client.send(client.sender("q"), text("a"))
    control, link = client.coordinator(), client.receiver("q", credit=1)
    (delivery,) = client.messages(link)
    txn = client.declare(control)
    link.settle(delivery.number, delivery.number, within(txn, Accepted()))
    link.detach()
    client.discharge(control, txn)
    assert queue.depth == 0


def test_a_transaction_with_too_many_messages_is_given_up_as_a_whole(scene, client, queue):
    scene.broker.queues.alter("q", max_depth=100_000)
    control, sender = client.coordinator(), client.sender("q")
    for _ in range(7):
        client.send(sender, *[text("x")] * 1500)
    link = client.receiver("q", credit=10_500)
    numbers = [delivery.number for delivery in client.messages(link)]
    txn = client.declare(control)
    link.settle(numbers[0], numbers[5000], within(txn, Accepted()))
    scene.run()
    link.settle(numbers[5001], numbers[-1], within(txn, Accepted()))
    assert client.discharge(control, txn).error.condition == "amqp:transaction:rollback"
    assert (queue.depth, queue.in_flight) == (10_500, 0)
