"""Scenes with queues."""

import pytest


@pytest.fixture
def scene(queue_scene):
    return queue_scene
