"""What is there again after a restart, and what is not."""

import pytest

from broker.queue_scenes import Consumer, persistent, text_of
from heliograph.amqp.messages.message import decode_message
from heliograph.broker.core.queue_definition import DEAD_LETTER_QUEUE, QueueDefinition, QueueKind
from heliograph.broker.errors import NoSuchQueue
from heliograph.broker.queues import loading
from heliograph.broker.queues.consumer import ACCEPTED, FAILED
from heliograph.broker.queues.queue_storage import QueueStorage
from heliograph.errors import Problem


@pytest.fixture(params=["crash", "restart"])
def again(request, durable):
    """Starts the server again: after a crash, or after it was stopped."""
    return durable.crash if request.param == "crash" else durable.restart


def test_persistent_messages_are_there_again_in_order(durable, again):
    queue = durable.queue()
    durable.put(queue, "a", "b", durable=True)
    durable.put(queue, "c", durable=True)
    again()
    queue = durable.queues.find("Q")
    assert queue.depth == 3
    assert durable.get(queue) == ["a", "b", "c"]


def test_what_was_got_is_gone_for_good(durable, again):
    queue = durable.queue()
    durable.put(queue, *"abcd", durable=True)
    consumer = durable.consumer(queue, credit=3)
    queue.settle([consumer.entries[0], consumer.entries[2]], ACCEPTED)
    durable.turn()
    again()
    assert durable.get(durable.queues.find("Q")) == ["b", "d"]


def test_messages_that_are_not_persistent_are_gone(durable, again):
    queue = durable.queue()
    durable.put(queue, "a")
    durable.put(queue, "b", durable=True)
    again()
    assert durable.get(durable.queues.find("Q")) == ["b"]


def test_definitions_are_there_again(durable, again):
    durable.queue(max_depth=17, description="orders")
    durable.queues.define(QueueDefinition("A", QueueKind.ALIAS, target="Q"))
    durable.queues.define(QueueDefinition("M", QueueKind.MODEL, max_depth=3))
    durable.queues.alter("Q", put_enabled=False)
    before = durable.queues.definitions()
    again()
    assert durable.queues.definitions() == before
    assert durable.queues.find("A") is durable.queues.find("Q")


def test_deleted_queues_stay_deleted(durable, again):
    durable.put(durable.queue(), "a", durable=True)
    durable.queues.delete("Q")
    durable.turn()
    again()
    with pytest.raises(NoSuchQueue):
        durable.queues.find("Q")


def test_permanent_dynamic_queues_stay_and_temporary_ones_go(durable, again):
    durable.queues.define(QueueDefinition("M", QueueKind.MODEL))
    durable.queues.define(QueueDefinition("T", QueueKind.MODEL, temporary=True))
    creator = object()
    permanent = durable.queues.create_dynamic("M", creator).name
    temporary = durable.queues.create_dynamic("T", creator).name
    durable.turn()
    again()
    assert durable.queues.find(permanent)
    with pytest.raises(NoSuchQueue):
        durable.queues.find(temporary)


def test_failed_deliveries_are_remembered(durable, again):
    queue = durable.queue()
    durable.put(queue, "a", "b", durable=True)
    consumer = durable.consumer(queue)
    queue.settle(consumer.entries[1:], FAILED)
    durable.turn()
    again()
    assert [entry.deliveries for entry in durable.queues.find("Q").browse()] == [0, 1]


def test_wherever_a_crash_cuts_the_log_no_failure_counts_twice_and_none_that_was_safe_is_forgotten(durable):
    """And nobody gets a message from its queue that has failed as often as the threshold says."""
    threshold = 4
    durable.queue("BACKOUT")
    queue = durable.queue(backout_threshold=threshold, backout_queue="BACKOUT")
    durable.put(queue, "a", "b", durable=True)
    consumer = durable.consumer(queue)
    safe = [durable.store.ledger.end]
    """How far the log was, by the number of failures of "a" that were safe; "b" has none."""
    entries = consumer.forget()
    for failures in range(1, threshold + 1):
        consumer.credit += 1
        queue.settle([entry for entry in entries if text_of(entry.payload) == "a"], FAILED)
        durable.turn()
        entries = consumer.forget()
        assert [entry.deliveries for entry in entries] == ([failures] if failures < threshold else [])
        if failures == 2:
            durable.store.upkeep.checkpoint()  # from here on the counts of a checkpoint come before those of facts
        safe.append(durable.store.ledger.end)
    records = durable.store.ledger.reader.read(safe[0], 1 << 20, safe[-1])
    assert len(records) > threshold
    for cut in [record.end for record in reversed(records)]:  # each log is cut out of the one before
        durable.crash(cut=cut)
        least = sum(cut >= position for position in safe) - 1
        here = [(text_of(entry.payload), entry.deliveries) for entry in durable.queues.find("Q").browse()]
        away = [(text_of(entry.payload), counted(entry)) for entry in durable.queues.find("BACKOUT").browse()]
        assert sorted(text for text, _ in here + away) == ["a", "b"]
        assert dict(here)["b"] == 0
        assert all(count < threshold for _, count in here)
        assert all(count == threshold for _, count in away)
        assert least <= dict(here + away)["a"] <= least + 1


def counted(entry):
    """How many failures a dead letter says it had."""
    return decode_message(entry.payload).message_annotations["x-opt-dead-letter-count"]


def test_priorities_expiry_and_delay_are_remembered(durable, again):
    queue = durable.queue()
    durable.put(queue, "low", durable=True, priority=1)
    durable.put(queue, "high", durable=True, priority=8)
    durable.put(queue, "brief", durable=True, ttl=1000)
    durable.put(queue, "late", durable=True, message_annotations={"x-opt-delivery-delay": 5000})
    again()
    queue = durable.queues.find("Q")
    durable.passes(2)
    assert durable.get(queue) == ["high", "low"]
    durable.passes(4)
    assert durable.get(queue) == ["late"]
    assert queue.depth == 0


def test_messages_put_before_anybody_looks_come_after_those_in_the_log(durable, again):
    queue = durable.queue()
    durable.put(queue, "a", durable=True)
    again()
    queue = durable.queues.find("Q")
    durable.put(queue, "b", durable=True)
    assert queue.depth == 2
    durable.put(queue, "c")
    assert durable.get(queue) == ["a", "b", "c"]


def test_dead_letters_are_there_again(durable, again):
    queue = durable.queue(backout_threshold=1)
    durable.put(queue, "a", durable=True)
    queue.settle(durable.consumer(queue).entries, FAILED)
    durable.turn()
    again()
    assert durable.queues.find("Q").depth == 0
    assert text_of(durable.queues.find(DEAD_LETTER_QUEUE).peek().payload) == "a"


def test_one_body_is_stored_once_for_several_queues(durable, again):
    queues = [durable.queue(name) for name in ("A", "B", "C")]
    durable.queues.put(queues, [persistent("first")])
    durable.turn()
    start = durable.store.ledger.end
    durable.queues.put(queues, [persistent("x" * 10_000)])
    durable.turn()
    assert durable.store.ledger.end - start < 11_000
    again()
    for name in ("A", "B", "C"):
        assert durable.get(durable.queues.find(name)) == ["first", "x" * 10_000]


def test_messages_that_cannot_be_read_wait_until_somebody_has_seen_to_it(durable, monkeypatch):
    queue = durable.queue()
    durable.queues.memory.budget = 0
    durable.put(queue, "a", "b", durable=True)
    told = []
    monkeypatch.setattr(durable.broker.journal, "unreadable", lambda *what: told.append(what))
    consumer = Consumer()
    queue.add_consumer(consumer)
    with monkeypatch.context() as broken:
        broken.setattr(QueueStorage, "fetch", fail)
        durable.turn()
        assert consumer.texts == []
        assert told == [("queue Q", "damage")]
    queue.serve(consumer)
    assert consumer.texts == ["a", "b"]


def test_a_queue_whose_messages_cannot_be_found_takes_new_ones_all_the_same(durable, monkeypatch):
    durable.put(durable.queue(), "a", durable=True)
    durable.crash()
    queue = durable.queues.find("Q")
    with monkeypatch.context() as broken:
        broken.setattr(loading, "_records", fail)
        durable.put(queue, "b", durable=True)
        durable.put(queue, "c")
        assert queue.peek() is None
    assert sorted(durable.get(queue)) == ["a", "b", "c"]


def fail(*_, **__):
    raise Problem("damage")


def test_payloads_beyond_the_budget_are_read_back(durable, again):
    queue = durable.queue()
    durable.queues.memory.budget = 5_000
    expected = [f"{number}" + "x" * 100 for number in range(200)]
    for at in range(0, 200, 20):
        durable.put(queue, *expected[at : at + 20], durable=True)
    assert sum(entry.payload is None for lane in queue.lanes for entry in lane) > 100
    assert durable.queues.memory.held < 8_000
    again()
    durable.queues.memory.budget = 5_000
    assert durable.get(durable.queues.find("Q")) == expected
    assert durable.queues.memory.held == 0
