"""What time does to messages."""

import pytest

from broker.queue_scenes import message, persistent, text_of
from heliograph.amqp import ProtocolError
from heliograph.amqp.codec.values import ULong
from heliograph.amqp.messages.message_peek import peek
from heliograph.broker.queues.consumer import RELEASED


def test_nobody_gets_what_has_expired(either):
    queue = either.queue()
    either.put(queue, "brief", ttl=1000)
    either.put(queue, "long", ttl=9000)
    either.clock += 2
    assert either.get(queue) == ["long"]
    assert queue.statistics().expired == 1
    assert queue.depth == 0


def test_what_has_expired_is_swept_out(either):
    queue = either.queue()
    either.put(queue, *map(str, range(50)), ttl=1000, durable=True)
    either.passes(3)
    assert (queue.depth, queue.statistics().expired) == (0, 50)


def test_an_absolute_time_counts_when_there_is_no_ttl(either):
    queue = either.queue()
    either.put(queue, "a", absolute_expiry_time=either.now + 1000)
    either.passes(2)
    assert queue.depth == 0


def test_the_queue_caps_the_life_of_messages(either):
    queue = either.queue(max_ttl=1)
    either.put(queue, "for ever")
    either.put(queue, "long", ttl=5000)
    either.put(queue, "brief", ttl=500)
    assert [entry.expires - either.now for entry in queue.browse()] == [1000, 1000, 500]


def test_the_receiver_is_told_the_time_that_is_left(either):
    queue = either.queue()
    either.put(queue, "a", ttl=5000)
    either.clock += 2
    (entry,) = either.consumer(queue).entries
    outgoing = entry.outgoing(either.now)
    assert peek(outgoing).ttl == 3000
    assert text_of(outgoing) == "a"


def test_a_message_that_comes_back_too_late_has_expired(either):
    queue = either.queue()
    either.put(queue, "a", ttl=1000)
    consumer = either.consumer(queue, credit=1)
    either.passes(2)
    assert queue.depth == 1
    queue.settle(consumer.entries, RELEASED)
    assert queue.depth == 0


def test_a_delayed_message_comes_at_its_time(either):
    queue = either.queue()
    consumer = either.consumer(queue)
    either.put(queue, "in time", message_annotations={"x-opt-delivery-time": either.now + 2000})
    either.put(queue, "delayed", message_annotations={"x-opt-delivery-delay": 1000})
    either.put(queue, "now", message_annotations={"x-opt-delivery-time": either.now - 1})
    assert consumer.texts == ["now"]
    assert (queue.depth, queue.statistics().delayed) == (3, 2)
    either.passes(1.5)
    assert consumer.texts == ["now", "delayed"]
    either.passes(1)
    assert consumer.texts == ["now", "delayed", "in time"]


def test_a_purge_takes_delayed_messages_too(either):
    queue = either.queue()
    either.put(queue, "a", "b")
    queue.put([message("c", message_annotations={"x-opt-delivery-delay": 1000})])
    assert queue.purge() == 3
    either.passes(2)
    assert queue.depth == 0


def test_the_age_of_the_oldest_message(either):
    queue = either.queue()
    assert queue.statistics().oldest_age == 0
    either.put(queue, "a")
    either.clock += 7
    assert queue.statistics().oldest_age == 7


@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("expiry", [-1, -(2**63)])
def test_what_expired_before_1970_has_expired(either, durable, expiry):
    queue = either.queue()
    either.put(queue, "a", durable=durable, absolute_expiry_time=expiry)
    either.passes(2)
    assert (queue.depth, queue.statistics().expired) == (0, 1)


def test_a_receiver_is_told_of_no_more_time_than_a_header_can_tell(either):
    queue = either.queue()
    either.put(queue, "a", absolute_expiry_time=2**63 - 1)
    (entry,) = either.consumer(queue).entries
    assert peek(entry.outgoing(either.now)).ttl == 2**32 - 1


@pytest.mark.parametrize("annotation", ["x-opt-delivery-delay", "x-opt-delivery-time"])
def test_a_delay_has_to_end_in_a_time_that_there_is(either, annotation):
    queue = either.queue()
    with pytest.raises(ProtocolError, match=annotation):
        queue.put([persistent("a", message_annotations={annotation: ULong(2**62 + 1)})])
    either.put(queue, "b", durable=True, message_annotations={annotation: ULong(2**62)})
    assert queue.statistics().delayed == 1
