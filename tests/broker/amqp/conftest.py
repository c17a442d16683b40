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
