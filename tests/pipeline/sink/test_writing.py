"""Frames are written to a real server by a real Spark."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from heliograph.log.streams.stream_reader import StreamReader
from paho_client import PahoClient
from pipeline.sink.queue_server import CONFIG, QueueAdmin, config_at
from pipeline.source.plants import wait_until
from running import RunningServer, Serve

FULL = (
    "select 'plant/7' topic, cast('warm' as binary) payload, 1 qos, true retain, 'text/plain' content_type, "
    "cast('42' as binary) correlation, 'answers/7' reply_to, map('unit', 'C', 'place', 'roof') properties, "
    "'mine' message_id, 7 priority, 60000L expiry"
)


def write(frame: DataFrame, server: str, **options: str) -> None:
    frame.write.format("heliograph").mode("append").options(server=server, **options).save()


def numbers(spark: SparkSession, count: int, partitions: int = 2) -> DataFrame:
    return spark.range(0, count, 1, partitions).selectExpr("cast(id as string) payload")


def in_order(bodies: list[str]) -> list[int]:
    return sorted(map(int, bodies))


class Files:
    """A stream of numbers, a file of them for each micro-batch, written to a queue."""

    def __init__(self, spark: SparkSession, folder: Path, server: str, queue: str) -> None:
        self._spark = spark
        self._source = folder / "numbers"
        self.checkpoint = folder / "checkpoint"
        self._server = server
        self.queue = queue
        self._source.mkdir()
        self._count = 0

    def add(self, count: int) -> None:
        """Another file, with so many of the next numbers."""
        lines = "".join(f"{number}\n" for number in range(self._count, self._count + count))
        self._count += count
        beside = self._source.parent / "new"
        beside.write_text(lines)
        beside.rename(self._source / f"{self._count:09}.txt")

    def run(self, change: Any = None) -> None:
        """Write all that is there, each file in a batch of its own."""
        frame = self._spark.readStream.option("maxFilesPerTrigger", 1).text(str(self._source))
        frame = frame.selectExpr("value as payload")
        if change is not None:
            frame = frame.mapInArrow(change, "payload string")
        query: StreamingQuery = (
            frame.writeStream.format("heliograph")
            .options(server=self._server, queue=self.queue, checkpointLocation=str(self.checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination(100)
        finally:
            query.stop()

    def forget_commit(self, batch: int) -> None:
        """As if the driver had died after the sink had committed a batch, and before Spark had noted it."""
        (self.checkpoint / "commits" / str(batch)).unlink()
        (self.checkpoint / "commits" / f".{batch}.crc").unlink(missing_ok=True)


@pytest.fixture
def files(spark: SparkSession, tmp_path: Path, server: RunningServer, admin: QueueAdmin) -> Files:
    return Files(spark, tmp_path, server.url("amqp"), admin.queue(f"files.{tmp_path.name[-30:]}"))


def test_rows_reach_mqtt_subscribers_with_their_properties(spark: SparkSession, server: RunningServer) -> None:
    with PahoClient() as subscriber:
        subscriber.connect(port=server.port)
        subscriber.subscribe("plant/7", 2)
        write(spark.sql(FULL), server.url("amqp"))
        message = subscriber.message()
    assert (message.topic, message.payload, message.qos) == ("plant/7", b"warm", 1)
    told = message.properties
    assert (told.ContentType, told.CorrelationData, told.ResponseTopic) == ("text/plain", b"42", "answers/7")
    assert dict(told.UserProperty).items() >= {"unit": "C", "place": "roof", "amqp.message_id": "mine"}.items()
    assert told.MessageExpiryInterval == 60


def test_a_retained_row_is_there_for_later_subscribers(spark: SparkSession, server: RunningServer) -> None:
    frame = spark.range(1).selectExpr("'kept' payload", "true retain")
    write(frame, server.url("amqp"), topic="kept/here")
    with PahoClient() as subscriber:
        subscriber.connect(port=server.port)
        subscriber.subscribe("kept/here", 1)
        message = subscriber.message()
    assert (message.payload, message.retain) == (b"kept", True)


def test_rows_reach_amqp_consumers_as_well(spark: SparkSession, server: RunningServer, admin: QueueAdmin) -> None:
    queue = admin.queue("full")
    write(spark.sql(FULL).drop("topic"), server.url("amqp"), queue=queue)
    (message,) = admin.taken(queue)
    assert (message.body, message.content_type, message.correlation_id) == (b"warm", "text/plain", "42")
    assert (message.message_id, message.priority, message.persistent) == ("mine", 7, True)
    assert message.properties == {"unit": "C", "place": "roof"}
    assert message.reply_to is not None
    assert message.reply_to.name == "answers/7"


def test_rows_are_in_a_stream_once(spark: SparkSession, server: RunningServer) -> None:
    frame = spark.range(0, 3000, 1, 2).selectExpr("concat('many/', id % 7) topic", "cast(id as string) payload")
    write(frame, server.url("amqp"))
    reader = StreamReader(server.config.parent / f"{server.config.stem}-data", "all")

    def found() -> list[int]:
        return sorted(
            int(message.payload)
            for partition in range(reader.partitions)
            for message in reader.messages(partition, reader.earliest(partition), 100_000)
            if message.topic.startswith("many/")
        )

    wait_until(lambda: len(found()) >= 3000)  # readers of files see what was committed a moment later
    assert found() == list(range(3000))


def test_the_server_is_found_by_its_pages(spark: SparkSession, server: RunningServer, admin: QueueAdmin) -> None:
    queue = admin.queue("by-pages")
    write(numbers(spark, 3), server.url("http"), queue=queue)
    assert in_order(admin.bodies(queue)) == [0, 1, 2]


def test_a_job_that_is_repeated_publishes_nothing(
    spark: SparkSession, server: RunningServer, admin: QueueAdmin
) -> None:
    queue = admin.queue("nightly")
    write(numbers(spark, 500), server.url("amqp"), queue=queue, job="nightly")
    write(numbers(spark, 500), server.url("amqp"), queue=queue, job="nightly")
    assert in_order(admin.bodies(queue)) == list(range(500))


def test_a_job_without_a_name_leaves_nothing_behind(
    spark: SparkSession, server: RunningServer, admin: QueueAdmin
) -> None:
    before = admin.queues("SPARK*")
    write(numbers(spark, 500), server.url("amqp"), topic="unnamed")
    assert admin.queues("SPARK*") == before


def test_a_streaming_query_publishes_each_row_once(files: Files, admin: QueueAdmin) -> None:
    for _ in range(3):
        files.add(400)
    files.run()
    files.add(100)
    files.run()
    assert in_order(admin.bodies(files.queue)) == list(range(1300))


def test_a_driver_that_dies_before_its_commit_is_noted_publishes_nothing_twice(files: Files, admin: QueueAdmin) -> None:
    files.add(600)
    files.run()
    files.forget_commit(0)
    files.add(50)
    files.run()
    assert in_order(admin.bodies(files.queue)) == list(range(650))


def test_a_task_that_fails_on_its_way_publishes_nothing_twice(files: Files, admin: QueueAdmin, tmp_path: Path) -> None:
    tried = tmp_path / "tried"

    def fail_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            if not tried.exists():
                tried.touch()
                raise ValueError("on purpose")
            yield batch.slice(batch.num_rows // 2)

    files.add(5000)
    files.run(fail_once)  # Spark tries again by itself
    assert tried.exists()
    assert in_order(admin.bodies(files.queue)) == list(range(5000))


def test_a_query_outlives_a_server_that_is_killed(spark: SparkSession, serve: Serve, tmp_path: Path) -> None:
    """The server dies while a task has rows in hand, and comes back on the same port."""
    storage = '[storage]\ndirectory = "data"\n'
    server = serve(CONFIG + storage)
    again = config_at(server.port_of("amqp"))
    address = server.url("amqp")
    with QueueAdmin(address) as admin:
        admin.queue("q")
    half_way, go_on = tmp_path / "half-way", tmp_path / "go-on"

    def wait_half_way(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            half_way.touch()
            while not go_on.exists():
                time.sleep(0.05)
            yield batch.slice(batch.num_rows // 2)

    def kill_half_way() -> None:
        while not half_way.exists():
            time.sleep(0.05)
        server.kill()
        serve(again + storage)
        go_on.touch()

    files = Files(spark, tmp_path, address, "q")
    files.add(3000)
    killer = threading.Thread(target=kill_half_way)
    killer.start()
    files.run(wait_half_way)
    killer.join()
    with QueueAdmin(address) as admin:
        assert in_order(admin.bodies("q")) == list(range(3000))


def test_mistakes_are_told_before_anything_runs(spark: SparkSession, server: RunningServer) -> None:
    frame = numbers(spark, 1)
    with pytest.raises(AnalysisException, match=r'unknown option "topics".*did you mean topic'):
        write(frame, server.url("amqp"), topics="t")
    with pytest.raises(AnalysisException, match="an option topic or queue, or a column topic or queue"):
        write(frame, server.url("amqp"))
    with pytest.raises(AnalysisException, match=r'expected mode\("append"\), found mode\("overwrite"\)'):
        frame.write.format("heliograph").mode("overwrite").options(server=server.url("amqp"), topic="t").save()


def test_a_row_without_a_topic_is_named(spark: SparkSession, server: RunningServer) -> None:
    frame = spark.range(0, 10, 1, 1).selectExpr("if(id = 7, null, 'some') topic", "'x' payload")
    with pytest.raises(PySparkException, match="row 7 of partition 0 in batch 0: has no destination"):
        write(frame, server.url("amqp"))


def test_a_server_that_is_not_there_is_named(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match=r"amqp://127.0.0.1:1: cannot connect"):
        write(numbers(spark, 1), "amqp://127.0.0.1:1", topic="t")
