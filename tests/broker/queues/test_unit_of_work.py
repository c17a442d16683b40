"""Units of work: all or nothing."""

import errno

import pytest

from broker.queue_scenes import Consumer, message, persistent, text_of, texts
from heliograph.broker.core.queue_definition import DEAD_LETTER_QUEUE
from heliograph.broker.core.span import message as span
from heliograph.broker.queues import unit_of_work as units
from heliograph.broker.queues.consumer import ACCEPTED, RELEASED, rejected


@pytest.fixture(params=[message, persistent])
def make(request):
    return request.param


def test_puts_are_seen_after_the_commit(either, make):
    one, two = either.queue("ONE"), either.queue("TWO")
    work = either.queues.begin()
    assert not one.put([make("a"), make("b")], work=work).stored
    two.put([make("c")], work=work)
    either.turn()
    assert one.peek() is None
    assert one.depth == 2
    assert either.commit(work) is None
    assert either.get(one) == ["a", "b"]
    assert either.get(two) == ["c"]


def test_puts_are_forgotten_when_it_is_rolled_back(either, make):
    queue = either.queue()
    work = either.queues.begin()
    queue.put([make("a")], work=work)
    work.roll_back()
    either.turn()
    assert (queue.depth, queue.peek()) == (0, None)


def test_gets_are_gone_after_the_commit(either, make):
    queue = either.queue()
    queue.put([make("a"), make("b")])
    either.turn()
    consumer = either.consumer(queue, credit=1)
    work = either.queues.begin()
    queue.settle(consumer.entries, ACCEPTED, work=work)
    assert (queue.depth, queue.in_flight) == (2, 1)
    assert either.commit(work) is None
    assert (queue.depth, queue.in_flight) == (1, 0)
    assert either.get(queue) == ["b"]


def test_gets_are_back_in_their_places_when_it_is_rolled_back(either, make):
    queue = either.queue()
    queue.put([make("a"), make("b")])
    either.turn()
    consumer = either.consumer(queue, credit=1)
    work = either.queues.begin()
    queue.settle(consumer.entries, ACCEPTED, work=work)
    work.roll_back()
    assert [entry.deliveries for entry in queue.browse()] == [1, 0]
    assert either.get(queue) == ["a", "b"]


def test_other_outcomes_count_from_the_commit_on(either, make):
    queue = either.queue()
    queue.put([make("a"), make("b")])
    either.turn()
    a, b = either.consumer(queue, credit=2).entries
    work = either.queues.begin()
    queue.settle([a], rejected(), work=work)
    queue.settle([b], RELEASED, work=work)
    assert queue.in_flight == 2
    either.commit(work)
    assert (queue.depth, queue.in_flight) == (1, 0)
    assert either.queues.find(DEAD_LETTER_QUEUE).depth == 1


def test_a_commit_is_answered_when_it_is_safe(durable):
    queue = durable.queue()
    work = durable.queues.begin()
    queue.put([persistent("a")], work=work)
    answers = []
    work.commit(answers.append)
    assert answers == []
    assert queue.peek() is None
    durable.turn()
    assert answers == [None]
    assert text_of(queue.peek().payload) == "a"


def test_a_commit_is_refused_when_a_queue_has_been_deleted(either, make):
    queue, other = either.queue("ONE"), either.queue("TWO")
    other.put([make("kept")])
    either.turn()
    consumer = either.consumer(other, credit=1)
    work = either.queues.begin()
    queue.put([make("a")], work=work)
    other.settle(consumer.entries, ACCEPTED, work=work)
    either.queues.delete("ONE")
    assert either.commit(work).condition == "amqp:transaction:rollback"
    assert either.get(other) == ["kept"]


@pytest.mark.parametrize(
    ("error", "condition"), [(errno.ENOSPC, "amqp:resource-limit-exceeded"), (errno.EIO, "amqp:internal-error")]
)
def test_a_commit_is_refused_when_nothing_can_be_stored(durable, error, condition):
    queue = durable.queue()
    work = durable.queues.begin()
    queue.put([persistent("a"), message("b")], work=work)
    durable.turn()
    durable.store.ledger.trouble = OSError(error, "trouble")
    answers = []
    work.commit(answers.append)
    assert answers[0].condition == condition
    durable.store.ledger.trouble = None
    assert queue.depth == 0


def test_a_unit_of_work_has_a_limit_of_bytes_but_takes_one_message_of_any_size(either, monkeypatch):
    monkeypatch.setattr(units, "LARGEST", 100)
    queue = either.queue()
    work = either.queues.begin()
    assert not queue.put([message("a" * 200)], work=work).refused
    assert queue.put([message("b")], work=work).refused[0].condition == "amqp:resource-limit-exceeded"
    assert work.publish(1, lambda: None, 1).condition == "amqp:resource-limit-exceeded"
    assert either.commit(work) is None
    assert queue.waiting == 1


def test_a_unit_of_work_has_a_limit(either):
    queue = either.queue(max_depth=100_000)
    work = either.queues.begin()
    assert not queue.put([message("a")] * units.LIMIT, work=work).refused
    refused = queue.put([message("b")], work=work).refused
    assert refused[0].condition == "amqp:resource-limit-exceeded"
    assert queue.depth == units.LIMIT
    assert either.commit(work) is None


def test_too_many_gets_make_the_commit_fail(either):
    queue = either.queue(max_depth=100_000)
    either.put(queue, *["a"] * (units.LIMIT + 1))
    consumer = either.consumer(queue, credit=units.LIMIT + 1)
    work = either.queues.begin()
    queue.settle(consumer.entries, ACCEPTED, work=work)
    assert either.commit(work).condition == "amqp:resource-limit-exceeded"
    assert queue.waiting == units.LIMIT + 1


def test_what_is_settled_in_a_unit_of_work_that_is_over_comes_back(either):
    queue = either.queue()
    either.put(queue, "a")
    consumer = either.consumer(queue, credit=1)
    work = either.queues.begin()
    work.roll_back()
    queue.settle(consumer.entries, ACCEPTED, work=work)
    assert either.get(queue) == ["a"]


def test_publications_happen_at_the_commit(either):
    happened = []
    work = either.queues.begin()
    assert work.publish(1, lambda: happened.append("a")) is None
    assert happened == []
    assert either.commit(work) is None
    assert happened == ["a"]


def test_publications_do_not_happen_when_it_is_rolled_back(scene):
    happened = []
    work = scene.queues.begin()
    work.publish(1, lambda: happened.append("a"))
    work.roll_back()
    assert happened == []


def test_what_publications_store_is_part_of_the_commit(durable):
    """A retained message and one for a bound queue: with the group cut off, none of it is there."""
    queue, bound = durable.queue(), durable.queue("BOUND")
    durable.turn()
    work = durable.queues.begin()
    queue.put([persistent("a")], work=work)
    work.publish(1, lambda: durable.broker.publish(span(b"t", b"x", retain=True)))
    work.publish(1, lambda: durable.queues.put([bound], [persistent("b")]))
    assert durable.commit(work) is None
    durable.crash(cut=durable.store.ledger.end - 8)
    assert durable.queues.find("Q").depth == durable.queues.find("BOUND").depth == 0
    assert not list(durable.broker.retained.matching("#", 0))


@pytest.mark.parametrize("bound", [1, 2])
def test_nobody_sees_a_publication_before_the_commit_is_safe(durable, bound):
    """Not even one that is not persistent: a crash could take the rest back."""
    queue, others = durable.queue(), [durable.queue(f"BOUND{number}") for number in range(bound)]
    work = durable.queues.begin()
    queue.put([persistent("a")], work=work)
    work.publish(1, lambda: durable.queues.put(others, [message("b")]))
    work.commit(lambda refusal: None)
    assert [other.peek() for other in others] == [None] * bound
    durable.turn()
    assert [durable.get(other) for other in others] == [["b"]] * bound


def test_ordinary_puts_before_a_commit_stay_before_it(durable):
    queue = durable.queue()
    work = durable.queues.begin()
    queue.put([persistent("b")], work=work)
    queue.put([persistent("a")])
    work.commit(lambda refusal: None)
    queue.put([persistent("c")])
    durable.turn()
    durable.crash()
    assert durable.get(durable.queues.find("Q")) == ["a", "b", "c"]


def test_consumers_get_a_commit_in_one_run(either, make):
    queue = either.queue()
    consumer = Consumer()
    queue.add_consumer(consumer)
    work = either.queues.begin()
    for text in "abc":
        queue.put([make(text)], work=work)
    either.commit(work)
    assert [texts(run) for run in consumer.runs] == [["a", "b", "c"]]
