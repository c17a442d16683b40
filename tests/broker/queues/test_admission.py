"""What a queue refuses, and what those are told who asked."""

import errno

import pytest

from broker.queue_scenes import Consumer, message, persistent
from heliograph.amqp.errors import ProtocolError
from heliograph.broker.queues.consumer import ACCEPTED


def refusals(put):
    return {place: refusal.condition for place, refusal in put.refused.items()}


def test_a_full_queue_takes_what_fits_and_refuses_the_rest(either):
    queue = either.queue(max_depth=2)
    put = queue.put([message("a"), message("b"), message("c"), message("d")])
    either.turn()
    assert refusals(put) == dict.fromkeys((2, 3), "amqp:resource-limit-exceeded")
    assert either.get(queue) == ["a", "b"]
    assert queue.statistics().refused == 2


def test_messages_that_somebody_has_still_count_for_the_depth(either):
    queue = either.queue(max_depth=1)
    either.put(queue, "a")
    consumer = either.consumer(queue)
    assert queue.put([message("b")]).refused
    queue.settle(consumer.entries, ACCEPTED)
    assert not queue.put([message("b")]).refused


def test_puts_that_are_not_committed_count_for_the_depth(either):
    queue = either.queue(max_depth=1)
    work = either.queues.begin()
    queue.put([message("a")], work=work)
    assert queue.put([message("b")]).refused
    work.roll_back()
    assert not queue.put([message("b")]).refused


def test_messages_that_are_too_long_are_refused_one_by_one(either):
    queue = either.queue(max_message_length=100)
    put = queue.put([message("a"), message("x" * 100), message("b")])
    either.turn()
    assert refusals(put) == {1: "amqp:link:message-size-exceeded"}
    assert either.get(queue) == ["a", "b"]


def test_nothing_is_put_while_puts_are_disabled(either):
    queue = either.queue(put_enabled=False)
    assert refusals(queue.put([message("a")])) == {0: "amqp:not-allowed"}
    either.queues.alter("Q", put_enabled=True)
    assert not queue.put([message("a")]).refused


def test_nobody_gets_anything_while_gets_are_disabled(either):
    queue = either.queue()
    consumer = either.consumer(queue)
    either.queues.alter("Q", get_enabled=False)
    either.put(queue, "a")
    assert consumer.texts == []
    assert queue.add_consumer(Consumer()).condition == "amqp:not-allowed"
    either.queues.alter("Q", get_enabled=True)
    either.turn()
    assert consumer.texts == ["a"]


def test_what_is_no_message_is_not_put(either):
    queue = either.queue()
    with pytest.raises(ProtocolError):
        queue.put([message("a"), b"\x00\x53\x70\xc0\xff"])
    assert queue.depth == 0


@pytest.mark.parametrize(
    ("error", "condition"), [(errno.ENOSPC, "amqp:resource-limit-exceeded"), (errno.EIO, "amqp:internal-error")]
)
def test_persistent_messages_are_refused_while_the_disk_is_in_trouble(durable, error, condition):
    queue = durable.queue()
    durable.turn()
    durable.store.ledger.trouble = OSError(error, "trouble")
    put = queue.put([message("a"), persistent("b")])
    assert refusals(put) == {1: condition}
    durable.store.ledger.trouble = None
    durable.turn()
    assert durable.get(queue) == ["a"]
