"""Streams as rows: `spark.read.format("heliograph")`, from a real server."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from heliograph.client import Message, Queue, Topic, connect
from heliograph.log.streams.stream_reader import StreamReader
from heliograph.mqtt import Publish
from pipeline.source.plants import CONFIG, Plant, numbers, wait_until
from running import servers


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    """Two hundred numbers, then a message with properties, then a retained one."""
    folder = tmp_path_factory.mktemp("plant")
    with servers(folder) as serve:
        plant = Plant(serve(CONFIG), folder / "data")
        plant.publish_numbers(0, 200)
        properties: Any = {
            "content_type": "text/plain",
            "correlation_data": b"\0\xff",
            "response_topic": "answers/here",
            "user_property": [("site", "köln"), ("line", "7")],
        }
        plant.publish([Publish("plant/rich", b"200", 0, properties=properties)])
        plant.publish([Publish("plant/kept", b"201", 0, retain=True)])
        yield plant


def test_all_columns_of_a_message(spark: SparkSession, plant: Plant) -> None:
    before = datetime.now(UTC).replace(tzinfo=None)
    row = plant.read(spark).where("topic = 'plant/rich'").collect()[0]
    assert before - timedelta(minutes=10) < row.timestamp <= before
    assert row.asDict() == {
        "stream": "plant",
        "partition": row.partition,
        "offset": row.offset,
        "timestamp": row.timestamp,
        "topic": "plant/rich",
        "payload": bytearray(b"200"),
        "qos": 0,
        "retain": False,
        "content_type": "text/plain",
        "correlation": bytearray(b"\0\xff"),
        "reply_to": "answers/here",
        "properties": {"site": "köln", "line": "7"},
        "message_id": f"plant/{row.partition}/{row.offset}",
    }


def test_files_and_pages_have_the_same_rows(spark: SparkSession, plant: Plant) -> None:
    rows = plant.read(spark).orderBy("partition", "offset").collect()
    assert rows == plant.read(spark, server=str(plant.directory)).orderBy("partition", "offset").collect()
    assert [int(row.payload) for row in rows if row.topic == "plant/1"] == list(range(1, 200, 5))
    assert [row.topic for row in rows if row.retain] == ["plant/kept"]


def test_a_range_of_offsets(spark: SparkSession, plant: Plant) -> None:
    (_, zero), (_, one) = plant.ends().values()
    frame = plant.read(
        spark, startingOffsets=json.dumps({"0": 10, "1": one}), endingOffsets=json.dumps({"0": 13, "1": "latest"})
    )
    assert [(row.partition, row.offset) for row in frame.orderBy("offset").collect()] == [(0, 10), (0, 11), (0, 12)]
    assert zero > 13


def test_a_range_of_times(spark: SparkSession, plant: Plant) -> None:
    times = [row.timestamp for row in plant.read(spark).select("timestamp").distinct().collect()]
    middle = sorted(times)[len(times) // 2]
    late = plant.read(spark, startingOffsets=middle.isoformat())
    early = plant.read(spark, endingOffsets=middle.isoformat())
    assert numbers(late) + numbers(early) != []
    assert sorted(numbers(late) + numbers(early)) == list(range(202))
    assert late.agg(F.min("timestamp")).collect()[0][0] == middle


def test_a_range_is_cut_for_many_tasks(spark: SparkSession, plant: Plant) -> None:
    plant.publish(Publish("plant/0", b"300") for _ in range(20_000))
    frame = plant.read(spark, minPartitions=4)
    assert frame.rdd.getNumPartitions() == 5
    assert frame.where("payload = '300'").count() == 20_000


def test_text_and_a_choice_of_columns(spark: SparkSession, plant: Plant) -> None:
    reading = spark.read.format("heliograph").schema("payload string, topic string")
    frame = reading.options(server=plant.url, stream="plant", format="text").load()
    assert frame.columns == ["payload", "topic"]
    assert frame.where("topic = 'plant/rich'").collect() == [("200", "plant/rich")]


@pytest.mark.parametrize(
    ("condition", "wanted", "handled"),
    [
        ("topic = 'plant/3'", lambda topic: topic == "plant/3", True),
        ("topic in ('plant/3', 'plant/4', 'x')", lambda topic: topic in {"plant/3", "plant/4"}, True),
        ("topic like 'plant/r%'", lambda topic: topic.startswith("plant/r"), True),
        ("topic like '%h'", lambda topic: topic.endswith("h"), False),
    ],
)
def test_topics_are_filtered_where_they_are_read(
    spark: SparkSession,
    plant: Plant,
    condition: str,
    wanted: Callable[[str], bool],
    handled: bool,
    capfd: pytest.CaptureFixture[str],
) -> None:
    filtered = plant.read(spark).where(condition)
    with StreamReader(plant.directory, "plant") as reader:
        messages = [message for partition in range(2) for message in reader.messages(partition, 0)]
    assert numbers(filtered) == sorted(int(message.payload) for message in messages if wanted(message.topic))
    filtered.explain()
    assert (") Filter " not in capfd.readouterr().out) == handled


def test_a_filter_on_the_time_reads_less(spark: SparkSession, plant: Plant) -> None:
    times = sorted(row.timestamp for row in plant.read(spark).select("timestamp").collect())
    last = times[-1]
    frame = plant.read(spark, failOnDataLoss="true", minPartitions=1).where(F.col("timestamp") > F.lit(last))
    assert frame.count() == 0
    assert frame.rdd.getNumPartitions() == 1  # there is one task because Spark wants one, not one for each partition
    recent = plant.read(spark).where(F.col("timestamp").between(F.lit(times[3]), F.lit(times[9])))
    assert recent.count() == sum(times[3] <= time <= times[9] for time in times)


def test_messages_of_amqp_are_rows_too(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("amqp")
    with servers(folder) as serve:
        server = serve(CONFIG + '[[listener]]\nport = 0\nprotocol = "amqp"\n')
        plant = Plant(server, folder / "data")
        message = Message(b"over amqp", reply_to=Queue("answers"), properties={"n": 5})
        with connect(server.url("amqp")) as connection, connection.session() as session:
            session.producer(Topic("plant/a")).send(message)
        wait_until(lambda: sum(latest for _, latest in plant.ends().values()) == 1)
        row = plant.read(spark).collect()[0]
    assert (bytes(row.payload), row.topic, row.message_id) == (b"over amqp", "plant/a", message.message_id)
    assert row.reply_to == "queue://answers"
    assert row.properties["n"] == "5"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"stream": "plnt"}, 'unknown stream "plnt"; streams are: plant'),
        ({"strem": "plant"}, 'unknown option "strem", did you mean "stream"?'),
        (
            {"server": "http://127.0.0.1:1"},
            "http://127.0.0.1:1: the server cannot be reached: connection refused",
        ),
        ({"server": "nowhere"}, 'expected a URL or the directory of a log, found "nowhere"'),
        ({"startingOffsets": '{"0": 5}'}, "has partitions 0 to 1, found no offset for 1"),
        ({"endingOffsets": '{"0": 900000, "1": 0}'}, "found 900000"),
    ],
)
def test_mistakes_are_told_in_our_words(spark: SparkSession, plant: Plant, options: dict[str, str], told: str) -> None:
    with pytest.raises(PySparkException) as raised:
        plant.read(spark, **options).collect()
    assert told in str(raised.value)


def test_a_column_that_is_not_there_is_told(spark: SparkSession, plant: Plant) -> None:
    reading = spark.read.format("heliograph").schema("topics string").options(server=plant.url, stream="plant")
    with pytest.raises(PySparkException, match='unknown column "topics", did you mean "topic"'):
        reading.load().collect()
