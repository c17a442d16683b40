"""A turn in which something cannot be stored: what is left out, who is blamed, and what everybody else has."""

import pytest

from broker.queue_scenes import Consumer, message, persistent, texts
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.queue_definition import DEAD_LETTER_QUEUE
from heliograph.broker.queues.consumer import ACCEPTED, rejected
from heliograph.log import message_log as ledger


class Defect(Exception):
    pass


@pytest.fixture
def scene(durable, failures, monkeypatch):
    """A broker that notes its defects, with a log that does not take messages with the word "bad" in them."""
    encode = ledger.encode_queue_messages

    def picky(messages, receivers):
        if b"bad" in messages.data:
            raise Defect
        return encode(messages, receivers)

    monkeypatch.setattr(ledger, "encode_queue_messages", picky)
    durable.broker.defects._journal = failures
    return durable


def put_as(scene, client, queue, *messages):
    scene.broker.defects.serving = client
    queue.put(messages)
    scene.broker.defects.serving = None


def test_only_what_cannot_be_stored_is_left_out_and_its_sender_blamed(scene, failures):
    queue, other = scene.queue(), scene.queue("OTHER")
    good, bad = Outlet(), Outlet()
    put_as(scene, good, queue, persistent("a"))
    put_as(scene, bad, queue, persistent("b"), persistent("bad"), persistent("c"))
    put_as(scene, good, queue, persistent("d"))
    put_as(scene, good, other, persistent("e"))
    scene.turn()
    assert scene.broker.defects.culprits == [bad]
    assert failures.seen == [("a message for queue Q could not be stored", bad)]
    assert scene.broker.stats.internal_errors == 1
    assert (queue.depth, queue.statistics().put, other.depth) == (4, 4, 1)
    scene.crash()
    assert scene.get(scene.queues.find("Q")) == ["a", "b", "c", "d"]
    assert scene.get(scene.queues.find("OTHER")) == ["e"]


def test_what_was_written_before_the_failure_is_not_written_again(scene):
    queue = scene.queue()
    large = [persistent(f"{n}" + "x" * 200_000) for n in range(3)]
    put_as(scene, Outlet(), queue, *large, persistent("bad"))
    scene.turn()
    assert (queue.depth, queue.storage.pending) == (3, 3)


def test_a_message_for_several_queues_is_left_out_of_all(scene):
    queues = [scene.queue("ONE"), scene.queue("TWO")]
    scene.broker.defects.serving = Outlet()
    scene.queues.put(queues, [persistent("bad"), persistent("good")])
    scene.turn()
    assert [queue.depth for queue in queues] == [1, 1]
    assert [scene.get(queue) for queue in queues] == [["good"], ["good"]]


def test_if_nobody_can_be_blamed_nothing_is_stored_or_acknowledged_any_more(scene):
    queue = scene.queue()
    scene.put(queue, "safe", durable=True)
    put_as(scene, None, queue, persistent("bad"))
    told = []
    scene.broker.turn.held.when_safe(lambda: told.append("something"))
    scene.broker.turn.end()
    scene.broker.turn.more_is_safe()
    assert "nothing is acknowledged or stored any more" in scene.store.trouble
    refused = queue.put([persistent("later")]).refused
    assert refused[0].condition == "amqp:internal-error"
    scene.broker.turn.held.when_safe(lambda: told.append("something else"))
    scene.broker.turn.end()
    scene.broker.look_after_log(0.1)
    assert not scene.broker.turn.held.ready
    assert told == []
    scene.store.close()
    scene._start()
    assert scene.get(scene.queues.find("Q")) == ["safe"]


def test_a_unit_of_work_that_cannot_be_written_has_not_happened(scene):
    one, two = scene.queue("ONE"), scene.queue("TWO")
    scene.put(one, "a", durable=True)
    consumer = scene.consumer(one)
    work = scene.queues.begin()
    one.settle(consumer.entries, ACCEPTED, work=work)
    two.put([persistent("fine"), persistent("bad")], work=work)
    with pytest.raises(Defect):
        work.commit(print)
    consumer.credit = 0
    scene.turn()
    assert (one.depth, two.depth, scene.queues.works.open) == (1, 0, 0)
    assert not scene.store.trouble
    one.remove_consumer(consumer)
    assert scene.get(one) == ["a"]


def test_what_others_put_before_is_not_the_fault_of_whoever_commits(scene):
    queue, bad = scene.queue(), Outlet()
    put_as(scene, bad, queue, persistent("bad"), persistent("good"))
    work = scene.queues.begin()
    queue.put([persistent("in work")], work=work)
    assert scene.commit(work) is None
    assert scene.broker.defects.culprits == [bad]
    assert scene.get(queue) == ["good", "in work"]


def test_a_dead_letter_that_cannot_be_stored_stays_where_it_is(scene):
    queue = scene.queue()
    scene.put(queue, "a", "b", durable=True)
    consumer = scene.consumer(queue)
    entries, consumer.credit = consumer.entries, 0
    queue.settle(entries, rejected("bad"), consumer=consumer)
    scene.turn()
    assert (queue.depth, queue.in_flight, queue.waiting) == (2, 0, 2)
    assert scene.queues.find(DEAD_LETTER_QUEUE).depth == 0
    assert not scene.store.trouble


def test_a_consumer_that_fails_is_gone_and_others_get_its_messages(scene):
    class Failing(Consumer):
        gone = False

        def deliver(self, entries):
            raise Defect

        def failed(self):
            self.gone = True

    queue = scene.queue()
    failing = Failing()
    queue.add_consumer(failing)
    fine = scene.consumer(queue)
    scene.put(queue, "a", "b", durable=True)
    assert failing.gone
    assert texts(fine.entries) == ["a", "b"]
    assert len(queue.consumers) == 1


def test_a_queue_that_cannot_hand_out_keeps_no_other_from_it(scene, failures, monkeypatch):
    broken, fine = scene.queue("BROKEN"), scene.queue("FINE")
    consumer = scene.consumer(fine)

    def fail():
        raise Defect

    monkeypatch.setattr(broken, "hand_out", fail)
    broken.put([message("a")])
    fine.put([message("b")])
    scene.turn()
    assert consumer.texts == ["b"]
    assert failures.seen == [("messages of queue BROKEN could not be handed out", None)]


def test_what_is_done_when_a_turn_is_safe_fails_for_one_and_is_done_for_others(scene, failures):
    client, done = Outlet(), []
    scene.broker.defects.serving = client
    scene.broker.turn.held.when_safe(lambda: 1 / 0)
    scene.broker.defects.serving = None
    scene.broker.turn.held.when_safe(lambda: done.append(1))
    scene.turn()
    assert done == [1]
    assert scene.broker.defects.culprits == [client]


def test_a_timetable_goes_on_after_a_failure(scene, failures, monkeypatch):
    queue = scene.queue()
    scene.put(queue, "a", ttl=1000)
    scene.put(queue, "b", ttl=5000)
    monkeypatch.setattr(queue, "_expire", lambda entries: 1 / 0)
    scene.passes(2)
    assert failures.seen
    monkeypatch.undo()
    scene.passes(10)
    assert queue.statistics().expired == 1
