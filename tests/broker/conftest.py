"""Scenes with a store."""

import pytest

from broker.clients import DurableScene
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
