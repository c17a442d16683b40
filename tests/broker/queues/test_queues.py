"""Names, and what stands behind them."""

import pytest

from broker.queue_scenes import message
from heliograph.broker.core.queue_definition import (
    DEAD_LETTER_QUEUE,
    TEMPORARY_MODEL,
    Order,
    QueueDefinition,
    QueueKind,
)
from heliograph.broker.errors import InvalidQueue, NoSuchQueue, Refused
from heliograph.broker.queues.consumer import ACCEPTED, RELEASED
from heliograph.broker.storage.queue_records import QueueRecords, queue_record
from heliograph.errors import Problem
from heliograph.log import Record


def test_the_server_s_own_queues_are_always_there(either):
    assert [d.name for d in either.queues.definitions()] == [DEAD_LETTER_QUEUE, TEMPORARY_MODEL]


def test_a_name_that_nobody_has_is_not_found(either):
    with pytest.raises(NoSuchQueue) as raised:
        either.queues.find("NOBODY")
    assert raised.value.refusal.condition == "amqp:not-found"


def test_a_name_is_taken_once(either):
    either.queue()
    with pytest.raises(Refused) as raised:
        either.queue()
    assert raised.value.refusal.condition == "amqp:precondition-failed"


def test_an_alias_is_another_name_for_a_queue(either):
    queue = either.queue()
    either.queues.define(QueueDefinition("A", QueueKind.ALIAS, target="Q"))
    assert either.queues.find("A") is queue
    either.queues.delete("Q")
    with pytest.raises(NoSuchQueue):
        either.queues.find("A")


def test_a_model_is_no_queue(either):
    with pytest.raises(NoSuchQueue):
        either.queues.find(TEMPORARY_MODEL)


def test_queues_are_made_after_a_model_with_names_of_their_own(either):
    either.queues.define(QueueDefinition("M", QueueKind.MODEL, max_depth=3, order=Order.FIFO))
    one, two = (either.queues.create_dynamic("M", "creator", "ANSWERS") for _ in range(2))
    assert one.name != two.name
    assert one.name.startswith("ANSWERS.")
    assert (one.definition.max_depth, one.definition.order, one.definition.kind) == (3, Order.FIFO, QueueKind.LOCAL)


def test_temporary_queues_go_with_their_creator(either):
    mine = either.queues.create_dynamic(TEMPORARY_MODEL, "me")
    yours = either.queues.create_dynamic(TEMPORARY_MODEL, "you")
    consumer = either.consumer(mine)
    either.queues.creator_gone("me")
    assert mine.deleted
    assert consumer.refusal.condition == "amqp:resource-deleted"
    assert either.queues.find(yours.name) is yours


def test_persistent_messages_of_temporary_queues_are_not_stored(durable):
    queue = durable.queues.create_dynamic(TEMPORARY_MODEL, "me")
    durable.turn()
    end = durable.store.ledger.end
    assert not queue.put([message("a", durable=True)]).stored
    durable.turn()
    assert durable.store.ledger.end == end
    assert durable.get(queue) == ["a"]


def test_a_deleted_queue_takes_and_gives_nothing(either):
    queue = either.queue()
    either.put(queue, "a", "b", durable=True)
    consumer = either.consumer(queue)
    assert either.queues.delete("Q") == 2
    assert queue.put([message("c")]).refused[0].condition == "amqp:resource-deleted"
    queue.settle(consumer.entries[:1], ACCEPTED)
    queue.settle(consumer.entries[1:], RELEASED)
    either.turn()
    with pytest.raises(NoSuchQueue):
        either.queues.find("Q")


def test_a_queue_with_messages_is_deleted_only_if_that_is_wanted(either):
    queue = either.queue()
    either.put(queue, "a")
    with pytest.raises(Refused, match="has 1 messages"):
        either.queues.delete("Q", purge=False)
    queue.purge()
    assert either.queues.delete("Q", purge=False) == 0


def test_the_server_s_own_queues_are_not_deleted(either):
    with pytest.raises(Refused, match="belongs to the server"):
        either.queues.delete(DEAD_LETTER_QUEUE)


def test_attributes_are_altered_while_the_queue_is_in_use(either):
    queue = either.queue(max_depth=1)
    either.put(queue, "a")
    either.queues.alter("Q", max_depth=2)
    either.put(queue, "b")
    with pytest.raises(Problem):
        either.queues.alter("Q", max_depth=-1)
    assert queue.definition.max_depth == 2


def test_order_is_altered_only_while_the_queue_is_empty(either):
    queue = either.queue()
    either.put(queue, "a")
    with pytest.raises(Refused, match="only while it is empty"):
        either.queues.alter("Q", order=Order.FIFO)
    either.get(queue)
    either.queues.alter("Q", order=Order.FIFO)
    either.put(queue, "low", priority=1)
    either.put(queue, "high", priority=9)
    assert either.get(queue) == ["low", "high"]


def test_what_is_declared_is_made_or_changed(either):
    either.queues.declare(QueueDefinition("Q", max_depth=3))
    either.queues.declare(QueueDefinition("Q", max_depth=4))
    assert either.queues.find("Q").definition.max_depth == 4


def test_a_purge_leaves_what_somebody_has(either):
    queue = either.queue()
    either.put(queue, *"abc", durable=True)
    consumer = either.consumer(queue, credit=1)
    assert queue.purge() == 2
    queue.settle(consumer.entries, RELEASED)
    assert either.get(queue) == ["a"]


def test_figures(either):
    queue = either.queue()
    either.put(queue, *"abc")
    either.get(queue, 2)
    consumer = either.consumer(queue, credit=1)
    figures = queue.statistics()
    assert (figures.depth, figures.in_flight, figures.put, figures.got) == (1, 1, 3, 2)
    assert (figures.high_water, figures.consumers) == (3, 1)
    queue.settle(consumer.entries, ACCEPTED)
    assert queue.statistics().depth == 0


# Dead letters of all queues, and queues that clients have made


def test_a_queue_for_dead_letters_is_made_if_it_is_not_there(either):
    either.queues.open_dead_letter_queue("DEAD")
    assert either.queues.dead_letter_queue == "DEAD"
    assert either.queues.find("DEAD").definition.max_depth == either.queues.find(DEAD_LETTER_QUEUE).definition.max_depth
    assert either.queues.is_servers(either.queues.find("DEAD"))
    either.queue("ALIAS", kind="alias", target="DEAD")
    with pytest.raises(InvalidQueue, match="expected a local queue for dead letters, found ALIAS of kind alias"):
        either.queues.open_dead_letter_queue("ALIAS")


def test_what_an_administrator_has_chosen_for_dead_letters_counts_after_a_restart(durable):
    durable.queue("CHOSEN")
    durable.queues.send_dead_letters("CHOSEN")
    durable.restart()
    durable.queues.open_dead_letter_queue(DEAD_LETTER_QUEUE)
    assert durable.queues.dead_letter_queue == "CHOSEN"
    durable.queues.send_dead_letters("")
    durable.restart()
    durable.queues.open_dead_letter_queue(DEAD_LETTER_QUEUE)
    assert durable.queues.dead_letter_queue == DEAD_LETTER_QUEUE


def test_dead_letters_do_not_go_to_queues_of_clients(either):
    queue = either.queues.create_dynamic(TEMPORARY_MODEL, object())
    with pytest.raises(Refused, match="belongs to a client"):
        either.queues.send_dead_letters(queue.name)


def test_without_memory_there_is_no_new_queue(either):
    either.broker.memory.set_limit(1)
    with pytest.raises(Refused, match="there is no memory for queue Q"):
        either.queue()
    assert not either.queues.is_defined("Q")


def test_a_temporary_queue_needs_somebody_to_go_with(either):
    with pytest.raises(InvalidQueue, match="expected a creator"):
        either.queue(temporary=True)


@pytest.mark.parametrize("change", [{"kind": "model"}, {"temporary": True}])
def test_what_a_queue_is_cannot_be_altered(either, change):
    either.queue()
    with pytest.raises(Refused, match="cannot be changed"):
        either.queues.alter("Q", **change)


def test_only_a_model_has_queues_made_after_it(either):
    either.queue()
    with pytest.raises(Refused, match="queue Q is no model"):
        either.queues.create_dynamic("Q", object())


def test_a_queue_that_the_log_has_no_messages_of_is_set_aside(durable):
    queue = durable.queue()
    durable.put(queue, "a", durable=True)
    kind, body = queue_record(queue.definition, 4711, [])
    found = QueueRecords()
    found.take(Record(8, kind, body))
    failed = []
    durable.queues._queues.pop("Q")
    durable.queues._definitions.pop("Q")
    owned = durable.queues.recover(found, lambda record, error: failed.append((record.position, str(error))))
    assert owned == set()
    assert failed == [(8, "expected cursor 4711 with its messages, found none")]
    assert found.names() == []
    assert not durable.queues.is_defined("Q")
