"""The same messages for very many queues: what they have in common is done once, and others have their turns."""

import pytest

from broker.queue_scenes import Consumer, Scene, message, persistent
from heliograph.broker.core.queue_definition import QueueDefinition
from heliograph.broker.core.slices import SLICE
from heliograph.broker.queues import queue_turns


def some_queues(scene, number=3, **attributes):
    return [scene.broker.queues.define(QueueDefinition(f"Q{index}", **attributes)) for index in range(number)]


def consumers_of(queues):
    consumers = []
    for queue in queues:
        consumer = Consumer()
        queue.add_consumer(consumer)
        consumers.append(consumer)
    return consumers


@pytest.fixture(params=["memory", "log"])
def scene(request, tmp_path):
    scene = Scene(tmp_path if request.param == "log" else None)
    yield scene
    scene.close()


def test_each_queue_gets_its_own_entries_of_the_same_messages(scene):
    queues = some_queues(scene)
    consumers = consumers_of(queues)
    sent = [message("a"), persistent("b", priority=9), message("c", ttl=1000)]
    answers = scene.broker.queues.put(queues, sent)
    scene.turn()
    assert [len(answer.refused) for answer in answers] == [0, 0, 0]
    for queue, consumer in zip(queues, consumers, strict=True):
        assert sorted(consumer.texts) == ["a", "b", "c"]
        assert queue.in_flight == len(consumer.entries) == 3
        assert sorted(bool(entry.expires) for entry in consumer.entries) == [False, False, True]
        assert sorted(entry.priority for entry in consumer.entries) == [4, 4, 9]
    assert len({id(entry) for consumer in consumers for entry in consumer.entries}) == 9


def test_queues_that_make_something_else_of_messages_do_so(scene):
    queues = some_queues(scene, 2)
    queues += [
        scene.broker.queues.define(QueueDefinition("urgent", default_priority=8)),
        scene.broker.queues.define(QueueDefinition("short-lived", max_ttl=0.05)),
        scene.broker.queues.define(QueueDefinition("small", max_depth=1)),
        scene.broker.queues.define(QueueDefinition("short", max_message_length=5)),
        scene.broker.queues.define(QueueDefinition("closed", put_enabled=False)),
    ]
    consumers = consumers_of(queues)
    answers = scene.broker.queues.put(queues, [message("a"), message("b")])
    scene.turn()
    assert [sorted(answer.refused) for answer in answers] == [[], [], [], [], [1], [0, 1], [0, 1]]
    assert [consumer.texts for consumer in consumers] == [["a", "b"]] * 4 + [["a"], [], []]
    assert {entry.priority for entry in consumers[2].entries} == {8}
    assert all(entry.expires for entry in consumers[3].entries)
    assert [queue.depth for queue in queues] == [2, 2, 2, 2, 1, 0, 0]


def test_memory_is_charged_as_if_each_had_been_put_alone(scene):
    alone, *queues = some_queues(scene, 4)
    before = [queue.account.used for queue in queues]
    alone_before = alone.account.used
    sent = [message("x" * 1000), persistent("y" * 1000)]
    alone.put(sent)
    scene.broker.queues.put(queues, sent)
    charged = alone.account.used - alone_before
    assert charged > 1000
    assert [queue.account.used - was for queue, was in zip(queues, before, strict=True)] == [charged] * 3


def test_messages_are_handed_out_in_several_turns_if_that_takes_long(scene, monkeypatch):
    monkeypatch.setattr(queue_turns, "_HANDED_OUT_AT_ONCE", 5)
    queues = some_queues(scene, 20)
    consumers = consumers_of(queues)
    scene.turn()

    def deliver(consumer, entries):
        Consumer.deliver(consumer, entries)
        scene.clock += SLICE / 4.5

    for consumer in consumers:
        consumer.deliver = lambda entries, consumer=consumer: deliver(consumer, entries)
    scene.broker.queues.put(queues, [message("a")])
    scene.broker.turn.end()
    assert [len(consumer.entries) for consumer in consumers] == [1] * 5 + [0] * 15
    assert scene.broker.slices.busy  # so there will be another turn
    scene.broker.queues.put(queues[:1], [message("b")])
    scene.broker.slices.run()
    scene.broker.turn.end()
    assert [len(consumer.entries) for consumer in consumers] == [1] * 10 + [0] * 10
    scene.finish()
    assert [len(consumer.entries) for consumer in consumers] == [2] + [1] * 19
