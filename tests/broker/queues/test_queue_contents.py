"""Where messages of a queue are, and what becomes of them."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from broker.queue_scenes import Scene, message, persistent, text_of, texts
from heliograph.broker.core.queue_definition import Order
from heliograph.broker.errors import UnsafeMessage
from heliograph.broker.queues import queue_storage
from heliograph.broker.queues.entry import GONE, TAKEN, WAITING
from heliograph.broker.queues.queue_storage import QueueStorage


class Contents(RuleBasedStateMachine):
    """A queue of two priorities, against lists."""

    def __init__(self):
        super().__init__()
        self.scene = Scene()
        self.queue = self.scene.queue()
        self.there = []
        """All that is in the queue, as (minus priority, number)."""
        self.taken = {}
        self.number = 0

    @rule(priorities=st.lists(st.sampled_from([1, 8]), min_size=1, max_size=4))
    def put(self, priorities):
        payloads = []
        for priority in priorities:
            self.number += 1
            self.there.append((-priority, self.number))
            payloads.append(message(str(self.number), priority=priority))
        self.queue.put(payloads)
        self.scene.turn()

    def waiting(self):
        return sorted(set(self.there) - self.taken.keys())

    @rule(most=st.integers(1, 5))
    def take(self, most):
        entries = self.queue.deliverable(self.queue.take(most))
        expected = self.waiting()[:most]
        assert [(-entry.priority, int(text_of(entry.payload))) for entry in entries] == expected
        self.taken |= dict(zip(expected, entries, strict=True))

    @precondition(lambda self: self.there)
    @rule(data=st.data())
    def lock(self, data):
        waiting = self.waiting()
        if waiting:
            chosen = data.draw(st.sampled_from(waiting))
            entry = next(one for one in self.queue.browse() if int(text_of(one.payload)) == chosen[1])
            self.queue.lock([entry])
            self.taken[chosen] = entry

    @precondition(lambda self: self.taken)
    @rule(data=st.data(), back=st.booleans())
    def settle(self, data, back):
        keys = data.draw(st.lists(st.sampled_from(sorted(self.taken)), min_size=1, unique=True))
        entries = [self.taken.pop(key) for key in keys]
        if back:
            self.queue.unlock(entries)
        else:
            self.queue.gone(entries)
            self.there = [one for one in self.there if one not in keys]
            assert all(entry.state == GONE for entry in entries)

    @invariant()
    def figures(self):
        waiting = self.waiting()
        assert (self.queue.depth, self.queue.in_flight) == (len(self.there), len(self.taken))
        assert self.queue.waiting == len(waiting)
        assert texts(self.queue.browse()) == [str(number) for _, number in waiting]
        assert all(entry.state == TAKEN for entry in self.taken.values())


Contents.TestCase.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
TestContents = Contents.TestCase


def test_in_a_fifo_queue_priorities_do_not_matter(scene):
    queue = scene.queue(order=Order.FIFO)
    queue.put([message("low", priority=1), message("high", priority=9)])
    assert texts(queue.deliverable(queue.take(5))) == ["low", "high"]


def test_one_entry_after_the_other_is_seen_by_who_browses(either):
    queue = either.queue()
    either.put(queue, *map(str, range(600)))
    assert texts(queue.browse()) == [str(number) for number in range(600)]
    assert [text_of(one.payload) for one in queue.browse(lambda view: view.payload.endswith(b"7"))][:2] == ["7", "17"]
    assert all(one.parsed is None for one in queue.browse())


def test_what_has_expired_is_not_browsed_and_not_delivered(either):
    queue = either.queue()
    either.put(queue, "short", ttl=1000)
    either.put(queue, "long", ttl=9000)
    either.clock += 2
    assert text_of(queue.peek().payload) == "long"
    assert texts(queue.deliverable(queue.take(2))) == ["long"]
    assert (queue.depth, queue.counters.expired) == (1, 1)


def test_payloads_that_were_only_looked_at_leave_memory_when_there_is_no_room(durable, monkeypatch):
    monkeypatch.setattr(queue_storage, "BUDGET", 0)
    durable.restart()
    queue = durable.queue()
    queue.put([persistent("a"), persistent("b")])
    durable.turn()
    seen = list(queue.browse())
    assert [entry.payload for entry in seen] == [None, None]
    taken = queue.deliverable(queue.take(1))
    assert texts(taken) == ["a"]
    queue.unlock(taken)
    assert taken[0].payload is None
    assert durable.get(queue) == ["a", "b"]


def test_what_cannot_be_read_stays_in_its_place(durable, monkeypatch):
    monkeypatch.setattr(queue_storage, "BUDGET", 0)
    durable.restart()
    told = []
    monkeypatch.setattr(durable.broker.journal, "unreadable", lambda *what: told.append(what))
    queue = durable.queue()
    queue.put([persistent("a"), persistent("b")])
    durable.turn()

    def fail(self, reading, offset):
        raise UnsafeMessage("broken")

    with monkeypatch.context() as broken:
        broken.setattr(QueueStorage, "_read", fail)
        assert queue.deliverable(queue.take(1)) is None
        assert list(queue.browse()) == []
    assert told == [("queue Q", "broken")] * 2
    assert (queue.depth, queue.in_flight) == (2, 0)
    assert durable.get(queue) == ["a", "b"]


def test_very_many_that_expire_at_once_go_in_several_turns(scene):
    queue = scene.queue()
    queue.put([message("x", ttl=1000)] * 2500)
    scene.turn()
    scene.passes(2)
    assert queue.depth == 1500
    assert scene.finish() >= 1
    assert (queue.depth, queue.counters.expired) == (0, 2500)


@pytest.mark.parametrize("barred", [False, True])
def test_an_answer_is_taken_by_its_correlation_id(either, barred):
    queue = either.queue()
    consumer = either.consumer(queue, credit=0, correlation_id="c")
    either.put(queue, "a", "b", correlation_id="c")
    first = next(queue.browse())
    if barred:
        queue.consumers.bar(consumer, first)
    taken = queue.take_by_correlation("c", 1, consumer)
    assert texts(taken) == (["b"] if barred else ["a"])
    assert queue.take_by_correlation("other", 1) == []
    assert [entry.state for entry in taken] == [TAKEN]
    queue.unlock(taken)
    assert taken[0].state == WAITING
