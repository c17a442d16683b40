"""What a notebook does that runs all its cells at once, or that has a session of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PythonException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from pipeline.source.plants import CONFIG, Plant
from running import Serve, environment

NOTEBOOK = """
import json, sys
from pyspark.sql import SparkSession
from heliograph.pipeline.data_source import HeliographDataSource

url, checkpoint = sys.argv[1:]
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.dataSource.register(HeliographDataSource)
past = spark.read.format("heliograph").option("server", url).option("stream", "plant").load()
few = past.where("topic = 'plant/3'").count()
query = (
    spark.readStream.format("heliograph").option("server", url).option("stream", "plant")
    .option("startingOffsets", "earliest").load()
    .writeStream.format("memory").queryName("rows").option("checkpointLocation", checkpoint).start()
)
query.processAllAvailable()
print(json.dumps([few, spark.table("rows").count()]))
"""


@pytest.fixture
def plant(serve: Serve, tmp_path: Path) -> Plant:
    return Plant(serve(CONFIG), tmp_path / "data")


@pytest.mark.parametrize("kind", ["read", "readStream"])
def test_the_stream_of_a_topic_filter_is_there_when_load_returns(spark: SparkSession, plant: Plant, kind: str) -> None:
    assert "house" not in plant.server.page("/streams")
    getattr(spark, kind).format("heliograph").option("server", plant.url).option("topic", "house/#").load()
    assert "house/#" in plant.server.page("/streams")


def test_the_source_can_be_registered_in_a_session_of_ones_own(plant: Plant, tmp_path: Path) -> None:
    plant.publish_numbers(0, 100)
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK, plant.url, str(tmp_path / "checkpoint")],
        env=environment(PYSPARK_PYTHON=sys.executable), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [20, 100]


def test_registering_with_ours_keeps_state_in_as_many_parts_as_there_are_cores() -> None:
    program = (
        "from pyspark.sql import SparkSession; import heliograph.pipeline\n"
        'spark = SparkSession.builder.master("local[3]").config("spark.ui.enabled", "false").getOrCreate()\n'
        "heliograph.pipeline.register(spark)\n"
        'print(spark.conf.get("spark.sql.shuffle.partitions"))\n'
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "3"


def test_an_error_of_ours_is_one_sentence(spark: SparkSession) -> None:
    nowhere = spark.read.format("heliograph").option("server", "http://127.0.0.1:9").option("stream", "plant")
    with pytest.raises(AnalysisException) as raised:
        nowhere.load().count()
    assert "the server cannot be reached: connection refused: nothing listens on" in str(raised.value)
    assert "Traceback" not in str(raised.value)
    assert len(str(raised.value).splitlines()) <= 3


def test_an_error_of_ours_in_a_query_is_one_sentence(spark: SparkSession, plant: Plant, tmp_path: Path) -> None:
    frame = spark.readStream.format("heliograph").option("server", plant.url).option("stream", "nobody's").load()
    query = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    with pytest.raises(StreamingQueryException) as raised:
        query.awaitTermination(60)
    assert "nobody's" in str(raised.value)
    assert "Traceback" not in str(raised.value)


def test_errors_of_others_keep_their_stacks(spark: SparkSession, plant: Plant) -> None:
    plant.publish_numbers(0, 3)

    @udf("int")
    def broken(_):  # type: ignore[no-untyped-def]
        raise ValueError("a mistake in a notebook")

    with pytest.raises(PythonException, match="a mistake in a notebook") as raised:
        plant.read(spark).select(broken("payload")).collect()
    assert "in broken" in str(raised.value)
