"""Many clients wait for what is not safe yet: they get it some at a time, whatever else is done in slices."""

import time
from itertools import count

import pytest

from broker.durable_clients import DAY, durable
from heliograph.broker.core.slices import SLICE
from heliograph.broker.storage.streams import StreamOptions
from heliograph.mqtt import Publish

MANY = 250
ROOM = 2


@pytest.fixture
def crowd(scene):
    """Clients that have more to get than they can take at once."""
    clients = [durable(scene, f"s{number}", receive_maximum=ROOM) for number in range(MANY)]
    for client in clients:
        client.subscribe("a", 1)
    return clients


def becomes_safe(scene):
    scene.broker.turn.end()
    assert scene.store.ledger.wait()
    scene.broker.turn.more_is_safe()


def served(crowd):
    """How many have as much as they can take."""
    return sum(client.connection.session.window_room() == 0 for client in crowd)


def publish_more_than_they_can_take(scene):
    publisher = scene.client("publisher")
    scene.stop_the_clock_of_the_log()
    publisher.send(*[Publish("a", b"%d" % number, 1, packet_id=number) for number in range(1, ROOM + 2)])


def slow_down(scene):
    """From now on, whoever looks at the clock has had his time."""
    ticks = count()
    scene.broker.services.now = scene.broker.slices._now = lambda: scene.now + next(ticks) * SLICE


def test_they_get_it_in_several_turns(scene, crowd):
    publish_more_than_they_can_take(scene)
    slow_down(scene)
    becomes_safe(scene)
    assert 0 < served(crowd) < MANY
    scene.run_slices()
    assert served(crowd) == MANY


def test_they_get_it_while_retention_of_streams_goes_on(scene, crowd):
    stream, _ = scene.store.make_stream(StreamOptions("s", "b/#", partitions=8, retention_age=1))
    scene.broker.feed(stream)
    scene.client("device").send(*[Publish(f"b/{number}") for number in range(50)])
    publish_more_than_they_can_take(scene)
    scene.store.clock.wall = lambda: time.time() + DAY
    slow_down(scene)
    scene.broker.retain_streams()
    assert scene.broker.slices.busy
    becomes_safe(scene)
    scene.run_slices()
    assert served(crowd) == MANY
    assert [cursor.pending for cursor in stream.cursors] == [0] * 8
