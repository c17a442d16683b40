"""Consumers that choose look at deep queues bit by bit, and miss nothing."""

import pytest

from broker.queue_scenes import Consumer, Scene, message, texts
from heliograph.broker.core.slices import SLICE

MANY = 2000


class Patient(Consumer):
    """Goes on looking when it is told to."""

    def __init__(self, queue, **options):
        super().__init__(**options)
        self._queue = queue

    def look_further(self):
        self._queue.serve(self)


@pytest.fixture
def scene(scene):
    """Each look at the clock takes a third of a slice."""
    real = scene.broker.now
    looks = [0]

    def now():
        looks[0] += 1
        return real() + looks[0] * SLICE / 3

    scene.broker.services.now = now
    return scene


def fill(scene, queue):
    queue.put([message(str(index), subject="even" if index % 2 == 0 else "odd") for index in range(MANY)])
    scene.turn()


@pytest.mark.parametrize("browse", [False, True])
def test_a_consumer_with_a_selector_gets_all_that_it_wants_in_several_turns(scene: Scene, browse):
    queue = scene.queue()
    fill(scene, queue)
    consumer = Patient(queue, selector=lambda view: view.fields[3] == "even", browse=browse)
    queue.add_consumer(consumer)
    queue.serve(consumer)
    assert queue.is_behind(consumer)
    assert len(consumer.entries) < MANY // 2
    assert scene.finish() > 1
    assert not queue.is_behind(consumer)
    assert consumer.texts == [str(index) for index in range(0, MANY, 2)]


def test_an_awaited_answer_in_a_deep_queue_is_looked_for_and_found(scene: Scene):
    queue = scene.queue()
    queue.put([message(str(index), correlation_id=f"c{index}") for index in range(MANY)])
    scene.turn()
    consumer = Patient(queue, correlation_id="c1999", selector=lambda view: view.fields[5] == "c1999")
    queue.add_consumer(consumer)
    queue.serve(consumer)
    scene.finish()
    assert queue.index is None
    assert consumer.texts == ["1999"]
    queue.remove_consumer(consumer)
    assert not len(queue.consumers)


def test_what_comes_back_is_looked_at_again(scene: Scene):
    queue = scene.queue()
    fill(scene, queue)
    everything = scene.consumer(queue, credit=MANY)
    consumer = Patient(queue, selector=lambda view: view.fields[3] == "odd")
    queue.add_consumer(consumer)
    scene.finish()
    queue.unlock(everything.entries)
    scene.turn()
    queue.serve(consumer)
    scene.finish()
    assert sorted(map(int, texts(consumer.entries))) == list(range(1, MANY, 2))
