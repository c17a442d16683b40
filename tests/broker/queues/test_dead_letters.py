"""Where messages go that nobody can use, and how they come back."""

import pytest

from broker.queue_scenes import message, persistent, text_of
from heliograph.amqp.messages.message import decode_message
from heliograph.broker.core.queue_definition import DEAD_LETTER_QUEUE, QueueDefinition
from heliograph.broker.queues.consumer import FAILED, rejected
from heliograph.broker.queues.dead_letters import redrive


def fail(scene, queue, outcome=FAILED):
    """Get one message and fail."""
    consumer = scene.consumer(queue, credit=1)
    queue.settle(consumer.entries, outcome)
    queue.remove_consumer(consumer)
    scene.turn()


@pytest.fixture(params=[message, persistent])
def make(request):
    return request.param


def put(scene, queue, *payloads):
    assert not queue.put(payloads).refused
    scene.turn()


def annotations(queue):
    return [decode_message(entry.payload).message_annotations for entry in queue.browse()]


def test_a_rejected_message_goes_to_the_server_s_dead_letter_queue_with_the_reason(either, make):
    queue = either.queue()
    put(either, queue, make("a", message_annotations={"x-opt-mine": 5}))
    either.clock += 3
    fail(either, queue, rejected("no such order"))
    dead = either.queues.find(DEAD_LETTER_QUEUE)
    assert annotations(dead) == [
        {
            "x-opt-mine": 5,
            "x-opt-dead-letter-reason": "no such order",
            "x-opt-dead-letter-queue": "Q",
            "x-opt-dead-letter-time": either.now,
            "x-opt-dead-letter-count": 1,
        }
    ]
    assert (queue.depth, queue.in_flight, queue.statistics().dead_lettered, queue.statistics().got) == (0, 0, 1, 0)


def test_a_queue_may_have_a_dead_letter_queue_of_its_own(either, make):
    own = either.queue("OWN")
    queue = either.queue(dead_letter_queue="OWN")
    put(either, queue, make("a"))
    fail(either, queue, rejected())
    assert text_of(own.peek().payload) == "a"


def test_after_too_many_failures_a_message_goes_to_the_backout_queue(either, make):
    backout = either.queue("BACKOUT")
    queue = either.queue(backout_threshold=3, backout_queue="BACKOUT", dead_letter_queue="OTHER")
    put(either, queue, make("a"))
    for _ in range(2):
        fail(either, queue)
        assert (queue.depth, backout.depth) == (1, 0)
    fail(either, queue)
    assert (queue.depth, backout.depth) == (0, 1)
    assert annotations(backout)[0]["x-opt-dead-letter-count"] == 3


@pytest.mark.parametrize("attributes", [{"max_depth": 1}, {"put_enabled": False}, None])
def test_a_place_that_takes_nothing_is_passed_over(either, make, attributes):
    if attributes is not None:
        backout = either.queue("BACKOUT")
        either.put(backout, "full")
        either.queues.alter("BACKOUT", **attributes)
    queue = either.queue(backout_threshold=1, backout_queue="BACKOUT")
    put(either, queue, make("a"))
    fail(either, queue)
    assert either.queues.find(DEAD_LETTER_QUEUE).depth == 1


def test_the_last_resort_takes_everything(either, make):
    either.queues.alter(DEAD_LETTER_QUEUE, put_enabled=False, max_depth=1)
    queue = either.queue()
    put(either, queue, make("a"), make("b"))
    fail(either, queue, rejected())
    fail(either, queue, rejected())
    assert either.queues.find(DEAD_LETTER_QUEUE).depth == 2


def test_a_dead_letter_that_is_rejected_stays_and_does_not_go_round(either, make):
    queue = either.queue()
    put(either, queue, make("a"))
    fail(either, queue, rejected())
    dead = either.queues.find(DEAD_LETTER_QUEUE)
    consumer = either.consumer(dead)
    dead.settle(consumer.forget(), rejected(), consumer=consumer)
    either.turn()
    assert consumer.texts == []
    assert dead.depth == 1


def test_a_message_whose_annotations_make_no_sense_becomes_a_dead_letter_as_it_is(either):
    queue = either.queue()
    nonsense = b"\x00\x53\x72\xc1\x02\x02\x99" + message("a")
    put(either, queue, nonsense)
    fail(either, queue, rejected())
    assert either.queues.find(DEAD_LETTER_QUEUE).peek().payload == nonsense


@pytest.mark.parametrize("nonsense", [b"\x00\x53\x72\xc0\x05\x02\x54\x01\x54\x02", b"\x00\x53\x72\xc0\x03\x01\xa1\x00"])
def test_a_message_whose_annotations_are_a_list_becomes_a_dead_letter_as_it_is(either, nonsense):
    queue = either.queue()
    put(either, queue, nonsense + message("a"))
    fail(either, queue, rejected())
    assert either.queues.find(DEAD_LETTER_QUEUE).peek().payload == nonsense + message("a")


@pytest.mark.parametrize("name", ["TEMPORARY", "$subscription/somebody"])
def test_a_client_s_own_queue_gets_no_dead_letters_of_others(either, make, name):
    own = QueueDefinition(name, temporary=name == "TEMPORARY")
    theirs = either.queues.define(own, creator="somebody" if own.temporary else None)
    queue = either.queue(dead_letter_queue=name)
    put(either, queue, make("a"))
    fail(either, queue, rejected())
    assert (theirs.depth, either.queues.find(DEAD_LETTER_QUEUE).depth) == (0, 1)


# The way back


def redriven_in_one_go(scene, queue, **options):
    """Send dead letters back in one go; what became of them."""
    steps = redrive(scene.queues, queue, **options)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def test_dead_letters_go_back_to_where_they_came_from(either, make):
    one, two = either.queue("ONE"), either.queue("TWO")
    originals = [make("a"), make("b", message_annotations={"x-opt-mine": 1})]
    for queue, payload in zip((one, two), originals, strict=True):
        put(either, queue, payload)
        fail(either, queue, rejected())
    redriven = redriven_in_one_go(either, either.queues.find(DEAD_LETTER_QUEUE))
    either.turn()
    assert (redriven.moved, redriven.left) == (2, {})
    assert [queue.peek().payload for queue in (one, two)] == originals
    assert either.queues.find(DEAD_LETTER_QUEUE).depth == 0


def test_a_redrive_has_a_limit_and_an_origin(either, make):
    for name in ("ONE", "TWO"):
        queue = either.queue(name)
        put(either, queue, make("a"), make("b"))
        fail(either, queue, rejected())
        fail(either, queue, rejected())
    dead = either.queues.find(DEAD_LETTER_QUEUE)
    assert redriven_in_one_go(either, dead, most=1, origin="TWO").moved == 1
    either.turn()
    assert [either.queues.find(name).depth for name in ("ONE", "TWO")] == [0, 1]
    assert either.get(either.queues.find("TWO")) == ["a"]


def test_what_cannot_go_back_stays_and_is_reported(either, make):
    gone, full = either.queue("GONE"), either.queue("FULL", max_depth=1)
    for queue in (gone, full):
        put(either, queue, make("a"))
        fail(either, queue, rejected())
    put(either, full, make("b"))
    either.queues.delete("GONE")
    dead = either.queues.find(DEAD_LETTER_QUEUE)
    put(either, dead, make("put by hand"))
    redriven = redriven_in_one_go(either, dead)
    either.turn()
    assert redriven.moved == 0
    assert redriven.left == {
        "there is no queue GONE": 1,
        "queue FULL is full: it has 1 messages": 1,
        "it does not say where it came from": 1,
    }
    assert dead.depth == 3


def test_others_may_get_dead_letters_while_they_are_sent_back(either, make):
    queue = either.queue()
    put(either, queue, *[make(str(number)) for number in range(500)])
    queue.settle(either.consumer(queue, credit=500).entries, rejected())
    either.turn()
    dead = either.queues.find(DEAD_LETTER_QUEUE)
    either.queues.memory.budget = 0  # payloads leave memory when nobody looks at them
    steps, got = redrive(either.queues, dead), []
    for turn, _ in enumerate(steps):
        if turn == 3 or (len(got) == 130 and queue.depth):
            got += either.get(dead, most=130)
        either.turn()
    assert len(got) == 260
    assert sorted(got + either.get(queue), key=int) == [str(number) for number in range(500)]
    assert dead.depth == 0
