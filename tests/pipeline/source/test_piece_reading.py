"""What a task does when messages are gone that its micro-batch was to have: from a real server, without Spark.

It happens to a query that was killed in a micro-batch and is started again much later.
"""

from pathlib import Path

import pytest

from heliograph.pipeline.source.data_loss import DataLoss
from heliograph.pipeline.source.filters import Wanted
from heliograph.pipeline.source.offsets import Piece
from heliograph.pipeline.source.options import source_options
from heliograph.pipeline.source.piece_reading import read_pieces
from heliograph.pipeline.source.schema import arrow_schema, stream_schema
from pipeline.source.plants import CONFIG, Plant, wait_until
from running import RunningServer, Serve

ONE = CONFIG.replace("partitions = 2", "partitions = 1")
SHORT = CONFIG.replace("partitions = 2", "retention_age = 0.5")


def offsets(plant: Plant, first: int, end: int, **options: str) -> list[int]:
    """The offsets of the rows of a piece."""
    checked = source_options({"server": plant.url, "stream": "plant", **options}, streaming=True)
    batches = read_pieces(checked, arrow_schema(stream_schema("binary")), Wanted(), [Piece(0, first, end)])
    return [offset for batch in batches for offset in batch.column("offset").to_pylist()]


@pytest.fixture
def server(serve: Serve, tmp_path: Path) -> RunningServer:
    """Its stream has 20 messages."""
    server = serve(ONE)
    Plant(server, tmp_path / "data").publish_numbers(0, 20)
    return server


def test_messages_that_retention_took_fail_the_task_unless_they_may_be_lost(
    server: RunningServer, serve: Serve, tmp_path: Path
) -> None:
    server.stop()
    later = Plant(serve(SHORT), tmp_path / "data")
    wait_until(lambda: later.ends()[0][0] == 20)
    with pytest.raises(DataLoss, match="offsets 5 to 19 were deleted by retention before they were read"):
        offsets(later, 5, 20)
    assert offsets(later, 5, 20, failOnDataLoss="false") == []


def test_a_stream_whose_data_was_thrown_away_fails_the_task_unless_it_may_be_lost(
    server: RunningServer, serve: Serve, tmp_path: Path
) -> None:
    anew = Plant(serve(ONE.replace('"data"', '"other"')), tmp_path / "other")
    anew.publish_numbers(0, 8)
    with pytest.raises(DataLoss, match="the server's data was thrown away, or this is another server"):
        offsets(anew, 5, 20)
    assert offsets(anew, 5, 20, failOnDataLoss="false") == [5, 6, 7]
    assert offsets(anew, 10, 20, failOnDataLoss="false") == []
