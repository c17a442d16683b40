"""What a consumer says of a message, and what the queue makes of it."""

import pytest

from heliograph.broker.core.queue_definition import DEAD_LETTER_QUEUE
from heliograph.broker.queues.consumer import (
    ACCEPTED,
    FAILED,
    LOST,
    RELEASED,
    UNDELIVERABLE_HERE,
    Outcome,
    rejected,
)


@pytest.mark.parametrize(
    ("outcome", "left", "deliveries", "dead"),
    [
        (ACCEPTED, 0, [], 0),
        (RELEASED, 1, [0], 0),
        (FAILED, 1, [1], 0),
        (LOST, 1, [1], 0),
        (UNDELIVERABLE_HERE, 1, [1], 0),
        (rejected(), 0, [], 1),
        (Outcome(undeliverable_here=True), 1, [0], 0),
    ],
)
def test_what_becomes_of_a_message(either, outcome, left, deliveries, dead):
    queue = either.queue()
    either.put(queue, "a")
    consumer = either.consumer(queue, credit=1)
    queue.settle(consumer.entries, outcome, consumer=consumer)
    either.turn()
    assert queue.depth == left
    assert [entry.deliveries for entry in queue.browse()] == deliveries
    assert either.queues.find(DEAD_LETTER_QUEUE).depth == dead


@pytest.mark.parametrize(("outcome", "again"), [(RELEASED, ["a", "a"]), (UNDELIVERABLE_HERE, ["a"])])
def test_a_consumer_is_spared_what_it_cannot_use(either, outcome, again):
    queue = either.queue()
    either.put(queue, "a")
    consumer = either.consumer(queue, credit=1)
    consumer.credit = 1
    queue.settle(consumer.entries, outcome, consumer=consumer)
    either.turn()
    assert consumer.texts == again
    if outcome is UNDELIVERABLE_HERE:
        assert either.get(queue) == ["a"]  # others may have it


def test_whoever_is_lost_gets_one_more_attempt_than_whoever_failed(either):
    for outcome, most in ((FAILED, 2), (LOST, 3)):
        queue = either.queue(f"Q{most}", backout_threshold=2)
        either.put(queue, "a")
        attempts = 0
        while queue.depth:
            consumer = either.consumer(queue, credit=1)
            queue.remove_consumer(consumer)
            queue.settle(consumer.entries, outcome)
            either.turn()
            attempts += 1
        assert attempts == most


def test_a_reason_goes_with_a_dead_letter(either):
    queue = either.queue()
    either.put(queue, "a")
    consumer = either.consumer(queue, credit=1)
    queue.settle(consumer.entries, rejected("no such order"))
    either.turn()
    (entry,) = either.queues.find(DEAD_LETTER_QUEUE).browse()
    assert b"no such order" in entry.payload
