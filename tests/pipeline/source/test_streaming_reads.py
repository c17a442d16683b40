"""Streams without end: `spark.readStream.format("heliograph")`, from a real server."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipeline.source.plants import CONFIG, Plant, numbers, wait_until
from plain_client import PlainClient
from running import Serve

Start = Callable[..., StreamingQuery]


@pytest.fixture
def plant(serve: Serve, tmp_path: Path) -> Plant:
    return Plant(serve(CONFIG), tmp_path / "data")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a query that writes Parquet files to `rows`; what runs is stopped at the end."""
    queries: list[StreamingQuery] = []

    def start(frame: DataFrame, **trigger: Any) -> StreamingQuery:
        writing = frame.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        if trigger:
            writing = writing.trigger(**trigger)
        queries.append(writing.start(str(tmp_path / "rows")))
        return queries[-1]

    yield start
    for query in queries:
        query.stop()


@pytest.fixture
def written(spark: SparkSession, tmp_path: Path) -> Callable[[], list[int]]:
    """The numbers in all rows that were written."""
    return lambda: numbers(spark.read.parquet(str(tmp_path / "rows")))


def batches(query: StreamingQuery) -> list[int]:
    """How many rows the micro-batches had that had any."""
    return [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]]


def test_a_query_goes_on_with_the_next_message_and_after_a_restart_with_the_next(
    spark: SparkSession, plant: Plant, start: Start, written: Callable[[], list[int]]
) -> None:
    plant.publish_numbers(0, 100)
    query = start(plant.read_stream(spark))
    query.processAllAvailable()
    plant.publish_numbers(100, 150)
    query.processAllAvailable()
    assert written() == list(range(150))
    query.stop()
    plant.publish_numbers(150, 300)
    again = start(plant.read_stream(spark, server=str(plant.directory)))  # the files, this time
    again.processAllAvailable()
    assert written() == list(range(300))


def test_a_query_begins_with_what_comes_unless_it_says_otherwise(
    spark: SparkSession, plant: Plant, start: Start, written: Callable[[], list[int]]
) -> None:
    plant.publish_numbers(0, 10)
    query = start(plant.read_stream(spark, startingOffsets="latest"))
    query.processAllAvailable()
    plant.publish_numbers(10, 20)
    query.processAllAvailable()
    assert written() == list(range(10, 20))


def test_a_query_begins_and_ends_at_offsets(
    spark: SparkSession, plant: Plant, start: Start, written: Callable[[], list[int]]
) -> None:
    plant.publish_numbers(0, 10, topics=1)
    here = max(plant.ends(), key=lambda partition: plant.ends()[partition])
    first, last = (json.dumps({str(here): offset, str(1 - here): "earliest"}) for offset in (6, 9))
    start(plant.read_stream(spark, startingOffsets=first, endingOffsets=last)).processAllAvailable()
    assert written() == [6, 7, 8]


def test_no_more_messages_in_a_micro_batch_than_allowed_and_lag_is_reported(
    spark: SparkSession, plant: Plant, start: Start, written: Callable[[], list[int]]
) -> None:
    plant.publish_numbers(0, 100)
    query = start(plant.read_stream(spark, maxMessagesPerTrigger=30), availableNow=True)
    assert query.awaitTermination(60)
    assert batches(query) == [30, 30, 30, 10]
    assert written() == list(range(100))
    source = next(progress for progress in query.recentProgress if progress["numInputRows"])["sources"][0]
    done, latest = (json.loads(source[key])["partitions"] for key in ("endOffset", "latestOffset"))
    assert sum(latest.values()) - sum(done.values()) == 70


def test_what_is_available_now_ends_where_the_stream_ended(
    spark: SparkSession, plant: Plant, start: Start, written: Callable[[], list[int]]
) -> None:
    for round_ in range(2):
        plant.publish_numbers(20 * round_, 20 * round_ + 20)
        assert start(plant.read_stream(spark), availableNow=True).awaitTermination(60)
        assert written() == list(range(20 * round_ + 20))


def test_what_is_available_now_ends_where_it_is_told_to_end(
    spark: SparkSession, plant: Plant, start: Start, written: Callable[[], list[int]]
) -> None:
    plant.publish_numbers(0, 10, topics=1)
    here = max(plant.ends(), key=lambda partition: plant.ends()[partition])
    offsets = json.dumps({str(here): 7, str(1 - here): "latest"})
    assert start(plant.read_stream(spark, endingOffsets=offsets), availableNow=True).awaitTermination(60)
    assert written() == list(range(7))


SHORT = CONFIG.replace("partitions = 2", "retention_age = 0.5")


def test_a_query_waits_for_a_server_that_is_started_again(
    spark: SparkSession, serve: Serve, tmp_path: Path, start: Start, written: Callable[[], list[int]]
) -> None:
    server = serve(CONFIG)
    plant = Plant(server, tmp_path / "data")
    plant.publish_numbers(0, 10)
    query = start(plant.read_stream(spark))
    query.processAllAvailable()
    port = server.port_of("http")
    server.stop()
    again = Plant(serve(CONFIG.replace("[http]\nport = 0", f"[http]\nport = {port}")), tmp_path / "data")
    again.publish_numbers(10, 20)
    query.processAllAvailable()
    assert written() == list(range(20))


@pytest.fixture
def behind(serve: Serve, tmp_path: Path, spark: SparkSession, start: Start) -> Plant:
    """A query has read 10 messages, and the next 10 are gone before it is started again."""
    server = serve(CONFIG.replace("partitions = 2", "partitions = 1"))
    plant = Plant(server, tmp_path / "data")
    plant.publish_numbers(0, 10)
    start(plant.read_stream(spark), availableNow=True).awaitTermination(60)
    plant.publish_numbers(10, 20)
    server.stop()
    later = Plant(serve(SHORT), tmp_path / "data")
    wait_until(lambda: later.ends()[0][0] == 20)
    return later


def test_messages_that_retention_took_are_a_failure(spark: SparkSession, behind: Plant, start: Start) -> None:
    with pytest.raises(StreamingQueryException, match="offsets 10 to 19 were deleted by retention before they were"):
        start(behind.read_stream(spark), availableNow=True).awaitTermination(60)


def test_messages_that_retention_took_can_be_done_without(
    spark: SparkSession, behind: Plant, start: Start, written: Callable[[], list[int]]
) -> None:
    query = start(behind.read_stream(spark, failOnDataLoss="false"))
    query.processAllAvailable()
    behind.publish_numbers(20, 25)
    query.processAllAvailable()
    assert [number for number in written() if number < 10] == list(range(10))
    assert not set(written()) & set(range(10, 20))
    assert query.isActive


def test_a_stream_that_begins_anew_is_told(spark: SparkSession, serve: Serve, tmp_path: Path, start: Start) -> None:
    plant = Plant(serve(CONFIG), tmp_path / "data")
    plant.publish_numbers(0, 10)
    start(plant.read_stream(spark), availableNow=True).awaitTermination(60)
    other = Plant(serve(CONFIG.replace('"data"', '"other"')), tmp_path / "other")
    other.publish_numbers(0, 30)  # more than the first one had
    with pytest.raises(StreamingQueryException, match="it was thrown away and made anew, or this is another server"):
        start(other.read_stream(spark), availableNow=True).awaitTermination(60)


def test_a_stream_that_begins_anew_is_read_from_its_beginning_if_messages_may_be_lost(
    spark: SparkSession, serve: Serve, tmp_path: Path, start: Start, written: Callable[[], list[int]]
) -> None:
    plant = Plant(serve(CONFIG), tmp_path / "data")
    plant.publish_numbers(0, 20)
    start(plant.read_stream(spark), availableNow=True).awaitTermination(60)
    other = Plant(serve(CONFIG.replace('"data"', '"other"')), tmp_path / "other")
    other.publish_numbers(20, 110)
    query = start(other.read_stream(spark, failOnDataLoss="false"))
    query.processAllAvailable()
    other.publish_numbers(110, 120)
    query.processAllAvailable()
    assert written() == list(range(120))


def test_an_unknown_stream_is_told_with_those_there_are(spark: SparkSession, plant: Plant, start: Start) -> None:
    with pytest.raises(StreamingQueryException, match='unknown stream "plnt"; streams are: plant'):
        start(plant.read_stream(spark, stream="plnt")).processAllAvailable()


def test_a_topic_filter_makes_a_stream_that_is_used_again(
    spark: SparkSession, plant: Plant, start: Start, written: Callable[[], list[int]]
) -> None:
    for number in range(2):
        query = start(plant.read_stream(spark, stream="", topic="lines/+/temperature"))
        query.processAllAvailable()
        with PlainClient(plant.server.port).connected() as client:
            client.publish("lines/7/pressure", b"100")
            client.publish("lines/7/temperature", str(number).encode())
        wait_until(lambda: batches(query))  # noqa: B023 - it is waited for here
        query.stop()
        assert written() == list(range(number + 1))
