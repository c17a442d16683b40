"""Scenes with a store."""

import pytest

from broker.clients import DurableScene
from broker.queue_scenes import Scene as QueueScene
from heliograph.broker.core.interfaces import NoJournal


@pytest.fixture
def make(tmp_path):
    """Makes a scene with these limits."""
    scenes = []

    def start(**limits):
        scenes.append(DurableScene(tmp_path / "logs", **limits))
        return scenes[-1]

    yield start
    for scene in scenes:
        scene.close()


@pytest.fixture
def scene(make):
    return make()


class Failures(NoJournal):
    """Notes the defects that show themselves, which would fail a test otherwise."""

    def __init__(self):
        self.seen = []

    def failed(self, what, outlet):
        self.seen.append((what, outlet))


@pytest.fixture
def failures():
    return Failures()


@pytest.fixture
def queue_scene():
    """A broker that keeps everything in memory."""
    return QueueScene()


@pytest.fixture
def durable(tmp_path):
    """A broker with a log."""
    scene = QueueScene(tmp_path)
    yield scene
    scene.close()


@pytest.fixture(params=["in memory", "with a log"])
def either(request, tmp_path):
    """What holds for both."""
    scene = QueueScene(tmp_path if request.param == "with a log" else None)
    yield scene
    scene.close()
