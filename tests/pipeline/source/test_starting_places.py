"""Where a query may begin: within the stream, as a real server has it; without Spark."""

import json
from pathlib import Path
from typing import Any

import pytest

from heliograph.errors import Problem
from heliograph.pipeline.source.reading import batch_reader, source_schema, stream_reader
from pipeline.source.plants import CONFIG, Plant
from running import Serve

ONE = CONFIG.replace("partitions = 2", "partitions = 1")
LOSS = pytest.mark.parametrize("fail", ["true", "false"])


@pytest.fixture
def plant(serve: Serve, tmp_path: Path) -> Plant:
    """Its stream has 5 messages."""
    plant = Plant(serve(ONE), tmp_path / "data")
    plant.publish_numbers(0, 5)
    return plant


def options(plant: Plant, start: int, fail: str) -> dict[str, str]:
    return {
        "server": plant.url,
        "stream": "plant",
        "startingOffsets": json.dumps({"0": start}),
        "failOnDataLoss": fail,
    }


def initial_offset(given: dict[str, str]) -> dict[str, Any]:
    reader = stream_reader(source_schema(given), given)
    try:
        return reader.initialOffset()
    finally:
        reader.stop()


@LOSS
def test_a_batch_that_begins_behind_the_end_is_refused(plant: Plant, fail: str) -> None:
    given = options(plant, 6, fail)
    with pytest.raises(Problem, match='startingOffsets: stream "plant", partition 0, ends at 5, found 6'):
        batch_reader(source_schema(given), given).partitions()


@LOSS
def test_a_query_that_begins_behind_the_end_is_refused(plant: Plant, fail: str) -> None:
    given = options(plant, 6, fail)
    with pytest.raises(Problem, match='startingOffsets: stream "plant", partition 0, ends at 5, found 6'):
        initial_offset(given)


def test_a_query_may_begin_with_the_next_message(plant: Plant) -> None:
    given = options(plant, 5, "true")
    assert batch_reader(source_schema(given), given).partitions() == []
    assert initial_offset(given)["partitions"] == {"0": 5}
