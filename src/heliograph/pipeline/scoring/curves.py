"""How figures change with what grew from run to run: rates over clients, latency over the rate, the fan-out.

`direct_table` is about what distance costs: rates with a delay on the line, in per cent of the same test without it.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from heliograph.pipeline.scoring.costs import FINAL

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
    known = figures.withColumn("values", f.from_json("parameters", "map<string, string>"))
    points = (
        known.select("*", f.explode("values").alias("x_name", "text"))
        .where(f.col("x_name").isin(_RATE, *_GROWS))
        .where((f.col("x_name") == _RATE) | f.col("purpose").isin(*FINAL))
        .withColumn("x", f.col("text").try_cast("double"))
        .where(f.col("x").isNotNull())
        .withColumn("fixed", _fixed())
    )
    alike = Window.partitionBy("scenario", "target", "fixed", "x_name")
    varied = (
        points.withColumn("places", f.size(f.collect_set("x").over(alike)))
        .withColumn("variants", f.collect_set("variant").over(alike))
        .where(f.col("places") > 1)
        .withColumn("place", f.array_position(f.array(*map(f.lit, _GROWS)), f.col("x_name")))
    )
    first = f.min("place").over(Window.partitionBy("scenario", "target", "fixed"))
    ys = f.array(*(f.struct(f.lit(name).alias("y_name"), f.col(name).cast("double").alias("y")) for name in _Y))
    return (
        varied.withColumn("first", first)
        .where(f.col("place") == f.col("first"))
        .withColumn("variant", f.explode("variants"))
        .withColumn("one", f.explode(ys))
        .where(f.col("one.y") > 0)
        .select("scenario", "target", "variant", "x_name", "x", "one.y_name", "one.y", "run")
    )


def _fixed() -> Column:
    """What is the same along a curve, as text; curves over the rate are told apart from others by their own mark."""
    grows = (*_GROWS, *_FOLLOWS)
    over_rate = f.map_filter("values", lambda name, _: name != _RATE)
    others = f.map_filter("values", lambda name, _: ~name.isin(*grows))
    chosen = f.when(f.col("x_name") == _RATE, over_rate).otherwise(others)
    entries = f.array_sort(f.map_entries(chosen))
    return f.concat(f.when(f.col("x_name") == _RATE, "rate").otherwise("size"), f.to_json(entries))


DIRECT = {"HA.DISTANCE": "HA2", "DR.DISTANCE": "DR2"}
"""Tests with a delay, and the same without."""
_SAME = ("target", "scale", "size", "alone")


def direct_table(figures: DataFrame) -> DataFrame:
    """`direct`: each run with a delay beside the median of direct ones with the same target, scale and size."""
    rates = (
        figures.where(f.col("purpose").isin(*FINAL))
        .withColumn("rate", f.coalesce("round_trips", "received_rate"))
        .withColumn("size", f.get_json_object("parameters", "$.size"))
        .withColumn("alone", f.get_json_object("parameters", "$.clients") == "1")
    )
    partner = f.create_map(*(f.lit(word) for pair in DIRECT.items() for word in pair))[f.col("scenario")]
    usual = rates.groupBy(f.col("scenario").alias("direct"), *_SAME).agg(f.median("rate").alias("direct_rate"))
    return (
        rates.withColumn("direct", partner)
        .join(usual, ["direct", *_SAME])
        .where(f.col("direct_rate") > 0)
        .select("run", "direct", "rate", "direct_rate", (100 * f.col("rate") / f.col("direct_rate")).alias("percent"))
    )
