"""Our end of a link that sends: credit, drain, order."""

import pytest

from amqp.pair import Linked
from amqp.raw import receiving
from heliograph.amqp import (
    Accepted,
    Flowed,
    Settled,
    TransactionalState,
    Transfers,
)
from heliograph.amqp.codec.performatives import (
    Flow,
)


def test_a_state_and_a_message_format_travel_with_a_run():
    pair = Linked()
    pair.give_credit(10)
    pair.sender.send([b"x", b"y" * 100_000], state=TransactionalState(b"t"), message_format=7)
    pair.run()
    for one in pair.server.last(Transfers).deliveries:
        assert (one.state, one.message_format) == (TransactionalState(b"t"), 7)


def test_drain_gives_back_the_credit_that_is_not_used():
    pair = Linked()
    pair.consumer.flow(10, drain=True)
    pair.run()
    assert (pair.producer.credit, pair.producer.drain) == (10, True)
    pair.producer.send([b"last"])
    pair.producer.drained()
    pair.run()
    assert pair.client.payloads() == [b"last"]
    assert pair.client.last(Flowed).link is pair.consumer
    assert (pair.consumer.credit, pair.consumer.drain) == (0, False)
    pair.consumer.flow(5)
    pair.run()
    assert (pair.producer.credit, pair.producer.drain) == (5, False)


def test_a_sender_says_what_it_has():
    pair = Linked()
    pair.producer.offer(77)
    pair.run()
    assert pair.client.last(Flowed).link.available == 77


def test_more_than_the_credit_cannot_be_sent():
    pair = Linked()
    pair.give_credit(1)
    with pytest.raises(ValueError, match="credit for 1"):
        pair.sender.send([b"x"] * 2)


def test_acknowledgements_go_out_before_the_message_that_commits_them():
    pair = Linked()
    pair.give_credit(10)
    pair.producer.send([b"x"])
    pair.run()
    pair.consumer.settle(0, 0, TransactionalState(b"t", Accepted()))
    pair.sender.send([b"commit"])
    pair.run()
    assert [type(event) for event in pair.server.events[-2:]] == [Settled, Transfers]


def test_a_flow_that_is_older_than_what_was_sent_gives_the_rest():
    raw, link = receiving()
    raw.send(Flow(0, 1000, 0, 1000, handle=0, delivery_count=0, link_credit=10))
    link.send([b"x"] * 8)
    raw.send(Flow(0, 1000, 0, 1000, handle=0, delivery_count=0, link_credit=5))
    assert link.credit == 0
    raw.send(Flow(0, 1000, 0, 1000, handle=0, delivery_count=2, link_credit=10))
    assert link.credit == 4
    assert link.session.outgoing.window == 992


def test_windows_and_credit_of_any_size_are_taken():
    raw, link = receiving()
    raw.send(Flow(0, 0xFFFFFFFF, 0, 1000, handle=0, delivery_count=0, link_credit=0xFFFFFFFF))
    assert link.credit == 0xFFFFFFFF
    link.send([b"x"] * 10)
    raw.send(Flow(5, 0xFFFFFFFF, 0, 1000, handle=0, delivery_count=5, link_credit=0xFFFFFFFF))
    assert link.credit == link.session.outgoing.window == 0xFFFFFFFF - 5
