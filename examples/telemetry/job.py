"""The telemetry job: what devices measure becomes Parquet files by day, and alerts where one of them gets too hot.

Two queries read the stream, each at its own pace and with its own checkpoint, so both go on where they were, whatever
is stopped or killed. Run by the server (heliograph.toml), or by hand:

helio pipeline run --job examples/telemetry/job.py --source stream:telemetry
"""

import sqlite3
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from heliograph.pipeline.flows import Routes, flow_outputs, start_flow
from heliograph.pipeline.running import JobSettings

FLOW = Path(__file__).parent / "flow"
READING = "device string, site string, time timestamp, temperature double, hottest double"
WINDOW = "5 seconds"
LOOKUPS = 1000
"""Devices that each of Spark's processes remembers."""


def build(spark: SparkSession, settings: JobSettings) -> list[StreamingQuery]:
    """Start both queries, the one that people wait for first."""
    database = make_database(settings.pipeline.folder / "databases")
    messages = spark.readStream.format("heliograph").options(**settings.source_options).load()
    outputs = flow_outputs(messages, FLOW, state=str(database), lookup_cache=LOOKUPS)
    return [alert(outputs, settings), keep(spark, settings, database)]


def make_database(folder: Path) -> Path:
    """The database of the flow: which devices there are."""
    folder.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(folder / "PLANT.db")
    with connection:
        connection.executescript((FLOW / "plant.sql").read_text())
    connection.close()
    return folder


def keep(spark: SparkSession, settings: JobSettings, database: Path) -> StreamingQuery:
    """Every reading once in Parquet, in a folder for each day; what cannot be read beside it, with the reason."""
    folder = settings.pipeline.folder / "readings"
    routes = Routes.parse(
        {
            "readings": f"parquet:{folder}?format=json&schema={READING}&partition=day",
            "dead_letters": f"parquet:{folder}-refused",
        }
    )
    return start_flow(
        spark,
        FLOW,
        source_options=settings.source_options,
        routes=routes,
        checkpoint=settings.checkpoint("readings"),
        trigger="1 second",
        available_now=settings.once,
        state=str(database),
        lookup_cache=LOOKUPS,
        name="readings",
    )


def alert(outputs: DataFrame, settings: JobSettings) -> StreamingQuery:
    """One message for each device and window in which it was too hot on average."""
    readings = outputs.where("kind = 'topic'").select(f.from_json(f.col("payload").cast("string"), READING).alias("r"))
    windows = (
        readings.select("r.*")
        .withWatermark("time", "1 second")  # how much later than others a reading may come
        .groupBy("device", "site", "hottest", f.window("time", WINDOW))
        .agg(f.round(f.avg("temperature"), 1).alias("temperature"), f.count("*").alias("readings"))
    )
    too_hot = windows.where("temperature > hottest").select(
        f.concat(f.lit("alerts/"), "device").alias("topic"),
        f.to_json(f.struct("device", "site", "temperature", "hottest", "readings", "window.end")).alias("payload"),
    )
    return (
        too_hot.writeStream.format("heliograph")
        .options(**settings.sink_options)
        .option("checkpointLocation", settings.checkpoint("alerts"))
        .trigger(**settings.trigger)
        .queryName("alerts")
        .start()
    )
