"""Scenes with AMQP clients."""

import pytest

from broker.amqp.amqp_clients import AmqpScene


@pytest.fixture
def make(tmp_path):
    """Makes a scene with these limits."""
    scenes = []

    def start(**limits):
        scenes.append(AmqpScene(tmp_path / "logs", **limits))
        return scenes[-1]

    yield start
    for scene in scenes:
        scene.close()


@pytest.fixture
def scene(make):
    return make()


@pytest.fixture
def queue(scene):
    """The queue `q`."""
    return scene.queue("q")


@pytest.fixture
def client(scene, queue):
    """A client with an open connection and a session; the queue `q` is there."""
    return scene.amqp()
