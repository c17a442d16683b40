"""Delivery states on the wire, and what they mean to a queue."""

import pytest

from heliograph.amqp import Accepted, Error, Modified, Received, Rejected, Released, TransactionalState
from heliograph.broker.amqp.states import error_of, outcome_of, rejection
from heliograph.broker.errors import Refusal
from heliograph.broker.queues.consumer import ACCEPTED, FAILED, RELEASED, UNDELIVERABLE_HERE, Outcome, rejected


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        (Accepted(), ACCEPTED),
        (Released(), RELEASED),
        (Rejected(), rejected("rejected by the receiver")),
        (Rejected(error=Error("my:error")), rejected("my:error")),
        (Rejected(error=Error("my:error", "no such order")), rejected("my:error: no such order")),
        (Modified(), RELEASED),
        (Modified(delivery_failed=True), FAILED),
        (Modified(delivery_failed=True, undeliverable_here=True), UNDELIVERABLE_HERE),
        (Modified(undeliverable_here=True), Outcome(undeliverable_here=True)),
    ],
)
def test_the_word_of_a_receiver(state, outcome):
    assert outcome_of(state) == outcome


@pytest.mark.parametrize("state", [None, Received(0, 0), TransactionalState(b"1", Accepted())])
def test_what_says_nothing_final(state):
    assert outcome_of(state) is None


def test_a_refusal_is_told_as_an_error():
    refusal = Refusal("amqp:not-allowed", "the queue is closed")
    assert error_of(refusal) == Error("amqp:not-allowed", "the queue is closed")
    assert rejection(refusal) == Rejected(error=error_of(refusal))
