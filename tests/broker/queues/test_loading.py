"""The first look into a deep queue after a restart: bit by bit, and nobody sees half of it."""

from itertools import count

import pytest

from broker.queue_scenes import Consumer, texts
from broker.queues.test_queue_storage import fail
from heliograph.broker.core.slices import SLICE
from heliograph.broker.queues import loading
from heliograph.broker.queues.consumer import ACCEPTED

MANY = 3000


class Patient(Consumer):
    """Notes how often it was told that it may go on."""

    told = 0

    def __init__(self, queue, **options):
        super().__init__(**options)
        self._queue = queue

    def look_further(self):
        self.told += 1
        self._queue.serve(self)


@pytest.fixture
def deep(durable):
    """A queue in the log that nobody has looked into, beside another; each step takes a whole slice."""
    durable.queue("OTHER")
    durable.put(durable.queue(), *map(str, range(MANY)), durable=True)
    durable.put(durable.queues.find("OTHER"), "x", durable=True)
    durable.crash()
    ticks = count()
    durable.broker.slices._now = lambda: next(ticks) * SLICE
    return durable.queues.find("Q")


def expected(*more: str) -> list[str]:
    return [*map(str, range(MANY)), *more]


def test_a_consumer_gets_all_when_all_is_known(durable, deep):
    consumer = Patient(deep)
    deep.add_consumer(consumer)
    deep.serve(consumer)
    assert deep.is_behind(consumer)  # so a link that drains is not told that this is all
    durable.turn()
    assert consumer.texts == []
    assert deep.depth == MANY
    assert durable.finish() > 5
    assert consumer.texts == expected()
    assert consumer.told == 1
    assert not deep.is_behind(consumer)


def test_consumers_share_what_was_found(durable, deep):
    consumers = [Patient(deep, credit=1000) for _ in range(3)]
    for consumer in consumers:
        deep.add_consumer(consumer)
        deep.serve(consumer)
    durable.finish()
    assert [len(consumer.texts) for consumer in consumers] == [1000, 1000, 1000]


def test_what_is_put_meanwhile_comes_last_in_order(durable, deep):
    consumer = durable.consumer(deep)
    durable.put(deep, "first", durable=True)
    durable.broker.slices.run()
    durable.put(deep, "second")
    durable.broker.slices.run()
    durable.put(deep, "third", durable=True)
    assert deep.depth == MANY + 3
    durable.finish()
    assert consumer.texts == expected("first", "second", "third")
    deep.settle(consumer.entries, ACCEPTED)
    assert durable.get(durable.queues.find("OTHER")) == ["x"]
    assert (deep.depth, deep.storage.pending, durable.queues.memory.held) == (0, 0, 0)


def test_a_message_that_is_not_persistent_waits_behind_those_in_the_log(durable, deep):
    durable.put(deep, "new")
    durable.finish()
    assert durable.get(deep) == expected("new")


def test_messages_whose_time_comes_meanwhile(durable):
    queue = durable.queue()
    durable.put(queue, *map(str, range(MANY)), durable=True, ttl=5000)
    durable.put(queue, "late", durable=True, message_annotations={"x-opt-delivery-delay": 5000})
    durable.crash()
    ticks = count()
    durable.broker.slices._now = lambda: next(ticks) * SLICE
    queue = durable.queues.find("Q")
    consumer = durable.consumer(queue, credit=0)
    while not queue.lanes:
        durable.broker.slices.run()
    durable.passes(6)
    assert queue.is_loading
    assert queue.depth == MANY + 1
    durable.finish()
    durable.passes(6)
    durable.finish()
    consumer.credit = 10
    queue.serve(consumer)
    assert consumer.texts == ["late"]
    assert queue.depth == 1


def test_a_queue_that_is_deleted_meanwhile(durable, deep):
    other = durable.consumer(durable.queues.find("OTHER"))
    while not deep.lanes:
        durable.broker.slices.run()
    assert not deep.storage.loaded
    durable.queues.delete("Q")
    durable.finish()
    assert other.texts == ["x"]
    assert durable.queues.memory.held == len(other.entries[0].payload)


def test_upkeep_waits(durable, deep, monkeypatch):
    worked = []
    monkeypatch.setattr(durable.store.upkeep, "work", worked.append)
    durable.consumer(deep)
    durable.broker.look_after_log(0.1)
    assert worked == []
    durable.finish()
    durable.broker.look_after_log(0.1)
    assert worked == [0.1]


def test_a_log_that_turns_out_to_be_damaged(durable, deep, monkeypatch):
    told = []
    monkeypatch.setattr(durable.broker.journal, "unreadable", lambda *what: told.append(what))
    real = loading._records
    monkeypatch.setattr(loading, "_records", lambda *what: damaged(real(*what)))
    consumer = Patient(deep, credit=MANY + 5)
    deep.add_consumer(consumer)
    deep.serve(consumer)
    durable.put(deep, "persistent", durable=True)
    durable.put(deep, "volatile")
    durable.finish()
    assert set(told) == {("queue Q", "damage")}
    assert consumer.texts == []
    assert durable.queues.memory.held == 0
    assert not durable.broker.slices.busy  # it is not tried for ever
    monkeypatch.setattr(loading, "_records", real)
    deep.serve(consumer)
    durable.finish()
    assert sorted(consumer.texts) == sorted(expected("persistent", "volatile"))


def damaged(records):
    yield next(records)
    fail()


def test_a_purge_waits_until_all_is_known(durable, deep):
    steps = deep.load_in_steps()
    assert next(steps) is False
    durable.broker.slices.run()
    assert next(steps) is False
    durable.finish()
    assert next(steps, None) is None
    assert deep.purge() == MANY


def test_an_answer_that_is_waited_for(durable):
    durable.put(durable.queue(), *map(str, range(MANY)), durable=True)
    durable.put(durable.queue("REPLIES"), "answer", durable=True, correlation_id="c")
    durable.crash()
    ticks = count()
    durable.broker.slices._now = lambda: next(ticks) * SLICE
    replies = durable.queues.find("REPLIES")
    consumer = durable.consumer(replies, correlation_id="c")
    durable.put(replies, "other", correlation_id="d")
    durable.put(replies, "second", durable=True, correlation_id="c")
    assert consumer.texts == []
    durable.finish()
    assert consumer.texts == ["answer", "second"]
    assert durable.consumer(replies, correlation_id="d").texts == ["other"]


def test_messages_that_were_copied_or_delayed_are_in_their_old_order(durable):
    """Copies lie behind later messages."""
    queue = durable.queue()
    durable.put(queue, *map(str, range(50)), durable=True)
    durable.put(queue, "late", durable=True, message_annotations={"x-opt-delivery-delay": 1000})
    durable.passes(2)
    durable.put(queue, "after", durable=True)
    queue.settle(durable.consumer(queue, credit=45).entries, ACCEPTED)
    durable.turn()
    durable.store.upkeep.compact()
    durable.put(queue, "last", durable=True)
    durable.crash()
    queue = durable.queues.find("Q")
    assert texts(queue.browse()) == [*map(str, range(45, 50)), "late", "after", "last"]
