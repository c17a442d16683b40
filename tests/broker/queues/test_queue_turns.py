"""What queues do in a turn: hand out, write down, look at clocks, and carry on where something fails."""

import pytest

from broker.queue_scenes import Consumer, Scene, message, persistent
from heliograph.broker.core.slices import SLICE
from heliograph.broker.queues import queue_turns, refusal
from heliograph.errors import StorageError


@pytest.fixture
def consumed(scene):
    """A queue, and a consumer that waits."""
    queue = scene.queue()
    return queue, scene.consumer(queue)


def test_what_is_put_is_handed_out_at_the_end_of_the_turn(scene, consumed):
    queue, consumer = consumed
    queue.put([message("a")])
    assert (consumer.texts, scene.queues.awake) == ([], 1)
    scene.queues.end_turn()
    assert (consumer.texts, scene.queues.awake) == (["a"], 0)


def test_what_wakes_a_queue_meanwhile_is_handed_out_in_the_same_turn(scene, consumed):
    queue, consumer = consumed
    other = scene.queue("R")
    another = scene.consumer(other)
    passed_on = []

    def deliver(entries):
        Consumer.deliver(consumer, entries)
        passed_on.append(other.put([message("b")]))

    consumer.deliver = deliver
    queue.put([message("a")])
    scene.queues.end_turn()
    assert another.texts == ["b"]


def test_a_queue_that_fails_keeps_no_other_from_its_turn(scene, failures, monkeypatch):
    broken, fine = scene.queue("BROKEN"), scene.queue("FINE")
    consumer = scene.consumer(fine)
    monkeypatch.setattr(broken, "hand_out", lambda: 1 / 0)
    scene.broker.defects._journal = failures
    scene.queues.wake(broken)
    fine.put([message("a")])
    scene.queues.end_turn()
    assert consumer.texts == ["a"]
    assert failures.seen == [("messages of queue BROKEN could not be handed out", None)]


def test_those_who_choose_share_one_slice_for_each_turn(scene):
    assert scene.queues.may_look()
    scene.clock += SLICE / 2
    assert scene.queues.may_look()
    scene.clock += SLICE
    assert not scene.queues.may_look()
    scene.queues.end_turn()
    assert scene.queues.may_look()


def test_of_very_many_queues_some_are_left_for_the_next_turn(scene, monkeypatch):
    monkeypatch.setattr(queue_turns, "_HANDED_OUT_AT_ONCE", 2)
    queues = [scene.queue(f"Q{number}") for number in range(5)]
    handed = []

    def hand_out(queue):
        handed.append(queue.name)
        scene.clock += SLICE

    for queue in queues:
        monkeypatch.setattr(queue, "hand_out", lambda queue=queue: hand_out(queue))
        scene.queues.wake(queue)
    scene.queues.end_turn()
    assert handed == ["Q0", "Q1"]
    assert scene.broker.slices.busy
    scene.queues.wake(queues[0])
    scene.finish()
    assert handed == ["Q0", "Q1", "Q2", "Q3", "Q4", "Q0"]


def test_a_time_of_the_wall_is_turned_into_one_of_the_timers(scene):
    done = []
    scene.queues.set_timer(scene.queues.now() + 2500, lambda: done.append(scene.clock))
    scene.passes(2.4)
    assert done == []
    scene.passes(0.2)
    assert done == [scene.clock]


def test_something_is_done_later_once_however_often_it_is_asked_for(scene):
    done = []
    for _ in range(3):
        scene.queues.do_later("owner", lambda: done.append(1))
    assert done == []
    scene.finish()
    assert done == [1]


@pytest.mark.parametrize(("full", "condition"), [(True, refusal.FULL), (False, refusal.INTERNAL)])
def test_trouble_with_the_disk_is_told_to_those_who_put(durable, monkeypatch, full, condition):
    assert durable.queues.trouble is None
    monkeypatch.setattr(type(durable.store), "trouble", "no space")
    monkeypatch.setattr(type(durable.store), "disk_full", full)
    trouble = durable.queues.trouble
    assert (trouble.condition, trouble.text) == (condition, "messages cannot be stored at present: no space")


def test_in_memory_there_is_no_trouble(scene):
    assert scene.queues.trouble is None
    assert scene.queues.writes is None


def test_once_the_log_has_halted_nothing_more_is_written(durable):
    queue = durable.queue()
    durable.turn()
    queue.put([persistent("a")])
    end = durable.store.ledger.end
    durable.store.halt()
    durable.queues.end_turn()
    assert durable.store.ledger.end == end
    assert queue.depth == 0


def test_whoever_wants_a_queue_whose_log_cannot_be_read_is_told(durable, monkeypatch):
    queue = durable.queue()
    durable.put(queue, "a", durable=True)
    durable.restart()
    told = []
    monkeypatch.setattr(durable.broker.journal, "unreadable", lambda *what: told.append(what))

    def steps(self):
        raise StorageError("the disk is gone")
        yield

    queue = durable.queues.find("Q")
    with monkeypatch.context() as broken:
        broken.setattr(queue_turns.Loading, "steps", steps)
        consumer = Consumer()
        queue.add_consumer(consumer)
        queue.serve(consumer)
        durable.finish()
    assert ("queue Q", "the disk is gone") in told
    assert consumer.texts == []
    assert durable.queues.loading is None
    queue.serve(consumer)
    durable.finish()
    assert consumer.texts == ["a"]


def test_queues_that_are_not_known_are_loaded_together(tmp_path):
    scene = Scene(tmp_path)
    for name in ("ONE", "TWO"):
        scene.put(scene.queue(name), "a", durable=True)
    scene.restart()
    one, two = scene.queues.find("ONE"), scene.queues.find("TWO")
    assert not two.storage.loaded
    assert scene.queues.load(one)
    assert two.storage.loaded
    scene.close()
