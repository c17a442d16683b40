"""A broker of others for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.spool.mosquitto import Mosquitto


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    folder = tmp_path / "mosquitto"
    folder.mkdir()
    broker = Mosquitto(folder)
    yield broker
    broker.stop()
