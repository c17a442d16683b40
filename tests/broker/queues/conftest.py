"""Scenes with queues."""

import pytest

from broker.queues.scenes import Scene


@pytest.fixture
def scene():
    """A broker that keeps everything in memory."""
    return Scene()


@pytest.fixture
def durable(tmp_path):
    """A broker with a log."""
    scene = Scene(tmp_path)
    yield scene
    scene.close()


@pytest.fixture(params=["in memory", "with a log"])
def either(request, tmp_path):
    """What holds for both."""
    scene = Scene(tmp_path if request.param == "with a log" else None)
    yield scene
    scene.close()
