"""How figures change with what grew from run to run: rates over clients, latency over the rate, the fan-out."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from heliograph.pipeline.measurements.figures import FINAL

_Y = ("sent_rate", "received_rate", "round_trips", "avg_ms", "p99_ms", "server_cpu_cores")
_RATE = "rate"
_GROWS = (
    *("fan_out", "clients", "producers", "pairs", "consumers", "subscribers", "topics", "partitions", "managers"),
    *("background", "messages"),
)
"""Parameters that say how large a load is; where several grow together, the first one is what the curve is over."""
_FOLLOWS = (_RATE, "responders", "responders_per_queue", "consumers_per_queue", "producers_per_topic")


def curve_table(figures: DataFrame) -> DataFrame:
    """`curves`: a point for each run and figure, where runs of a scenario on a target have different sizes of load.

    All other parameters are the same along a curve. Variants may be what differs (`1:1`, `1:10`, `1:100`): then each of
    them has the whole curve. Over the offered rate there are curves of searches, where nothing but the rate changes.
    """
    known = figures.withColumn("values", F.from_json("parameters", "map<string, string>"))
    points = (
        known.select("*", F.explode("values").alias("x_name", "text"))
        .where(F.col("x_name").isin(_RATE, *_GROWS))
        .where((F.col("x_name") == _RATE) | F.col("purpose").isin(*FINAL))
        .withColumn("x", F.col("text").try_cast("double"))
        .where(F.col("x").isNotNull())
        .withColumn("fixed", _fixed())
    )
    alike = Window.partitionBy("scenario", "target", "fixed", "x_name")
    varied = (
        points.withColumn("places", F.size(F.collect_set("x").over(alike)))
        .withColumn("variants", F.collect_set("variant").over(alike))
        .where(F.col("places") > 1)
        .withColumn("place", F.array_position(F.array(*map(F.lit, _GROWS)), F.col("x_name")))
    )
    first = F.min("place").over(Window.partitionBy("scenario", "target", "fixed"))
    ys = F.array(*(F.struct(F.lit(name).alias("y_name"), F.col(name).cast("double").alias("y")) for name in _Y))
    return (
        varied.withColumn("first", first)
        .where(F.col("place") == F.col("first"))
        .withColumn("variant", F.explode("variants"))
        .withColumn("one", F.explode(ys))
        .where(F.col("one.y") > 0)
        .select("scenario", "target", "variant", "x_name", "x", "one.y_name", "one.y", "run")
    )


def _fixed() -> Column:
    """What is the same along a curve, as text; curves over the rate are told apart from others by their own mark."""
    grows = (*_GROWS, *_FOLLOWS)
    over_rate = F.map_filter("values", lambda name, _: name != _RATE)
    others = F.map_filter("values", lambda name, _: ~name.isin(*grows))
    chosen = F.when(F.col("x_name") == _RATE, over_rate).otherwise(others)
    entries = F.array_sort(F.map_entries(chosen))
    return F.concat(F.when(F.col("x_name") == _RATE, "rate").otherwise("size"), F.to_json(entries))
