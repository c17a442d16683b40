"""Spark reads from a real broker."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from paho_client import PahoClient
from pipeline.spool.driver import is_subscribed
from pipeline.spool.mosquitto import Mosquitto
from running import PATIENCE, environment

TESTS = Path(__file__).parents[2]
LONG = 100.0


def numbers(first: int, end: int) -> list[str]:
    return [str(number) for number in range(first, end)]


def start(spark: SparkSession, broker: Mosquitto, folder: Path, **more: str) -> StreamingQuery:
    frame = spark.readStream.format("mqtt").options(
        server=broker.url, topic="plant/#", spool=str(folder / "spool"), qos="2", client_id="spark", **more
    )
    return (
        frame.load()
        .writeStream.format("parquet")
        .options(path=str(folder / "out"), checkpointLocation=str(folder / "checkpoint"))
        .start()
    )


def wait_for(query: StreamingQuery, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG
    while not condition():
        query.processAllAvailable()
        assert time.monotonic() < deadline, "it never came about"


def written(spark: SparkSession, folder: Path) -> list[str]:
    if not (folder / "out" / "_spark_metadata").exists():
        return []
    rows = spark.read.parquet(str(folder / "out")).selectExpr("cast(payload as string) value").collect()
    return sorted((row.value for row in rows), key=int)


def test_messages_become_rows_and_segments_are_deleted(spark: SparkSession, broker: Mosquitto, tmp_path: Path) -> None:
    query = start(spark, broker, tmp_path)
    wait_for(query, lambda: is_subscribed(tmp_path / "spool"))
    with PahoClient() as publisher:
        publisher.connect(port=broker.port)
        publisher.publish("plant/7", b"0", 2, ContentType="text/plain", UserProperty=[("unit", "C")])
    wait_for(query, lambda: written(spark, tmp_path) == ["0"])
    (row,) = spark.read.parquet(str(tmp_path / "out")).collect()
    assert (row.stream, row.partition, row.offset, row.message_id) == ("spark", 0, 0, "spark/0")
    assert (row.topic, row.payload, row.qos, row.retain) == ("plant/7", b"0", 2, False)
    assert (row.content_type, row.properties, row.reply_to) == ("text/plain", {"unit": "C"}, None)
    for number in range(1, 4):
        broker.publish("plant/7", [str(number)], 2)
        wait_for(query, lambda number=number: len(written(spark, tmp_path)) == number + 1)  # type: ignore[misc]
    assert len(list((tmp_path / "spool").glob("*.arrow"))) < 4
    query.stop()


def test_a_query_that_is_started_again_goes_on(spark: SparkSession, broker: Mosquitto, tmp_path: Path) -> None:
    query = start(spark, broker, tmp_path)
    wait_for(query, lambda: is_subscribed(tmp_path / "spool"))
    broker.publish("plant/1", numbers(0, 200), 2)
    wait_for(query, lambda: len(written(spark, tmp_path)) > 0)
    query.stop()
    broker.publish("plant/1", numbers(200, 300), 2)
    query = start(spark, broker, tmp_path)
    wait_for(query, lambda: len(written(spark, tmp_path)) >= 300)
    query.stop()
    assert written(spark, tmp_path) == numbers(0, 300)


def test_a_driver_that_is_killed_loses_nothing_and_repeats_nothing(
    spark: SparkSession, broker: Mosquitto, tmp_path: Path
) -> None:
    """The driver and its JVM die at once in the middle of the messages."""
    paths = f"{environment()['PYTHONPATH']}:{TESTS}"
    driver = subprocess.Popen(
        [sys.executable, "-m", "pipeline.spool.driver", broker.url, str(tmp_path)],
        env=environment(PYTHONPATH=paths),
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert driver.stdout is not None
        assert driver.stdout.readline() == b"ready\n"
        broker.publish("plant/1", numbers(0, 500), 2)
        deadline = time.monotonic() + LONG
        while not written(spark, tmp_path) and time.monotonic() < deadline:
            time.sleep(0.1)
        broker.publish("plant/1", numbers(500, 1000), 2)
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait(PATIENCE)
        assert driver.stdout is not None
        driver.stdout.close()
    broker.publish("plant/1", numbers(1000, 1200), 2)
    query = start(spark, broker, tmp_path)
    wait_for(query, lambda: len(written(spark, tmp_path)) >= 1200)
    query.stop()
    assert written(spark, tmp_path) == numbers(0, 1200)


def test_a_broker_that_is_not_there_ends_the_query(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.readStream.format("mqtt").options(server="mqtt://127.0.0.1:1", topic="t", spool=str(tmp_path / "s"))
    query = frame.load().writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()
    with pytest.raises(PySparkException, match=r"cannot connect to mqtt://127.0.0.1:1: connection refused"):
        query.awaitTermination(LONG)


def test_a_broker_cannot_be_read_as_a_batch(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match=r"expected spark.readStream.format"):
        spark.read.format("mqtt").options(topic="t", spool="/nowhere").load().collect()
