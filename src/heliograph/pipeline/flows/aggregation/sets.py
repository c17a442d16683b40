"""Spark's part: notes, replies and deadlines of an aggregation are gathered by set, in Spark's own state."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heliograph.pipeline.flows.aggregation_requests import KEY, REPLIES, topics_of
from heliograph.pipeline.flows.outputs import SOURCE_DDL
from heliograph.pipeline.source.access import make_stream, open_stream
from heliograph.pipeline.source.options import source_options

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

MARGIN = 300
"""Seconds for which a set is kept when its time is over: so late may a deadline be published, and so wrong a clock."""
MESSAGES, SEEN = "messages", "seen"
"""All that a set has got; and when, by the micro-batch, each of it came."""


def read_aggregation(
    spark: "SparkSession", server: Mapping[str, str], aggregate: str, begin: Mapping[int, int]
) -> "DataFrame":
    """Everything about an aggregation, from its stream; a new query begins at these offsets."""
    from json import dumps  # noqa: PLC0415 - only for this

    return (
        spark.readStream.format("heliograph")
        .schema(SOURCE_DDL)
        .options(**server, topic=topics_of(aggregate))
        .option("startingOffsets", dumps({str(partition): offset for partition, offset in begin.items()}))
        .load()
    )


def make_aggregation_stream(server: Mapping[str, str], aggregate: str) -> dict[int, int]:
    """Have the server keep an aggregation's messages; where its stream ends now."""
    options = source_options({**server, "topic": topics_of(aggregate)}, streaming=True)
    make_stream(options)
    with open_stream(options) as reader:
        return {partition: latest for partition, (_, latest) in enumerate(reader.extents())}


def gathered(messages: "DataFrame", timeout: float) -> "DataFrame":
    """Sets that got something in a micro-batch (output mode update), each with all that it has.

    The time of a set is when it began; that is what Spark forgets it by. A reply that is too late for that, or that
    belongs to no set, has its own time, so that it comes out all the same.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - its usual name

    kept = timeout + MARGIN
    levels = F.split("topic", "/")
    key, kind = F.element_at(levels, -1), F.try_element_at(levels, F.lit(-2))
    began = F.when(key.rlike(KEY), F.timestamp_millis(F.substring(key, 1, 13).try_cast("bigint")))
    came = F.col("timestamp")
    late: Column = (kind == REPLIES) & (began < came - F.make_dt_interval(secs=F.lit(kept)))
    early: Column = began > came + F.make_dt_interval(secs=F.lit(MARGIN))
    time = F.when(began.isNull() | late | early, came).otherwise(began)
    columns = [F.col(name) for name in messages.columns]
    return (
        messages.withColumn("set", key)
        .withColumn("time", time)
        .withColumn(SEEN, F.current_timestamp())
        .withWatermark("time", f"{round(kept + MARGIN)} seconds")
        .groupBy("set", "time")
        .agg(F.collect_list(F.struct(*columns, SEEN)).alias(MESSAGES))
        .select(MESSAGES)
    )
