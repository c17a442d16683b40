"""What is put is got, in order, once."""

from broker.queue_scenes import message, persistent, texts
from heliograph.amqp.messages.message import decode_message
from heliograph.broker.queues.consumer import ACCEPTED, FAILED, RELEASED
from heliograph.broker.queues.entry import NOT_PERSISTENT


def test_messages_are_got_in_the_order_they_were_put(either):
    queue = either.queue()
    either.put(queue, "a", "b")
    either.put(queue, "c")
    assert either.get(queue) == ["a", "b", "c"]


def test_a_consumer_gets_no_more_than_its_credit(either):
    queue = either.queue()
    either.put(queue, "a", "b", "c")
    consumer = either.consumer(queue, credit=2)
    assert consumer.texts == ["a", "b"]
    consumer.credit = 5
    queue.serve(consumer)
    assert consumer.texts == ["a", "b", "c"]


def test_messages_put_in_one_turn_are_delivered_in_one_run(either):
    queue = either.queue()
    consumer = either.consumer(queue)
    queue.put([message("a")])
    queue.put([message("b"), message("c")])
    either.turn()
    assert [texts(run) for run in consumer.runs] == [["a", "b", "c"]]


def test_what_is_accepted_is_gone(either):
    queue = either.queue()
    either.put(queue, "a", durable=True)
    consumer = either.consumer(queue)
    queue.settle(consumer.entries, ACCEPTED)
    assert (queue.depth, queue.in_flight) == (0, 0)


def test_a_persistent_message_is_visible_only_when_it_is_safe(durable):
    queue = durable.queue()
    consumer = durable.consumer(queue)
    put = queue.put([persistent("a")])
    assert put.stored
    durable.queues.end_turn()
    assert consumer.texts == []
    durable.turn()
    assert consumer.texts == ["a"]


def test_released_messages_are_back_in_their_places(either):
    queue = either.queue()
    either.put(queue, *"abcd")
    consumer = either.consumer(queue, credit=3)
    a, b, c = consumer.entries
    queue.settle([b], ACCEPTED)
    queue.settle([c, a], RELEASED)
    assert either.get(queue) == ["a", "c", "d"]
    assert (a.deliveries, c.deliveries) == (0, 0)


def test_failed_deliveries_count(either):
    queue = either.queue()
    either.put(queue, "a")
    consumer = either.consumer(queue, credit=1)
    queue.settle(consumer.entries, FAILED)
    assert queue.peek().deliveries == 1


def test_higher_priorities_go_first(either):
    queue = either.queue()
    for text, priority in ("a", 1), ("b", 9), ("c", 1), ("d", 9):
        either.put(queue, text, priority=priority)
    assert either.get(queue) == ["b", "d", "a", "c"]


def test_what_a_message_does_not_say_is_as_the_queue_has_it_and_its_receiver_is_told(either):
    queue = either.queue(default_persistence=True, default_priority=7)
    plain = message("a")
    header = b"\x00Sp\xc0\x04\x02@P\x05"  # a priority, and no word of persistence
    queue.put([plain, header + plain])
    either.turn()
    found = [decode_message(entry.outgoing(0)) for entry in queue.browse()]
    assert [(one.body.value, one.durable, one.priority) for one in found] == [("a", True, 7), ("a", True, 5)]


def test_an_explicit_word_counts_more_than_the_default_of_the_queue(either):
    queue = either.queue(default_persistence=True)
    queue.put([b"\x00Sp\xc0\x02\x01B" + message("a")])
    either.turn()
    (entry,) = queue.browse()
    assert entry.offset == NOT_PERSISTENT
    assert not decode_message(entry.outgoing(0)).durable
