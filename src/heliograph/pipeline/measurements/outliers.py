"""Seconds that were not like the others of their run."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from heliograph.pipeline.measurements.latencies import ALL

_LEAST_SECONDS = 5
"""With fewer, nothing is usual."""
_TIMES = 6 * 1.4826
"""Median deviations: six standard deviations, if all were chance."""
_RATE_SHARE = 0.25
_LATENCY_TIMES = 2.0
"""A tail that is half as long is no trouble for anybody."""


def outlier_table(seconds: DataFrame, latencies: DataFrame) -> DataFrame:
    """`outliers`: rates that are far from the median of the run, and 99P that are far above it."""
    inside = seconds.where((F.col("second") >= 0) & (F.col("second") < F.floor("seconds")))
    counted = inside.select("run", "second", "group", _as_rows({"sent_rate": "sent", "received_rate": "received"}))
    waits = latencies.where((F.col("group") != ALL) & (F.col("second") >= 0))
    waited = waits.select("run", "second", "group", _as_rows({"p99_ms": "p99_ms"}))
    values = counted.unionByName(waited).select("run", "second", "group", "one.*")
    alike = Window.partitionBy("run", "group", "metric")
    judged = (
        values.withColumn("usual", F.median("value").over(alike))
        .withColumn("deviation", F.median(F.abs(F.col("value") - F.col("usual"))).over(alike))
        .withColumn("known", F.count("*").over(alike))
    )
    odd = judged.where((F.col("known") >= _LEAST_SECONDS) & (F.col("usual") > 0) & _is_odd())
    return odd.select("run", "second", "group", "metric", "value", "usual")


def _as_rows(columns: dict[str, str]) -> Column:
    rows = [
        F.struct(F.lit(metric).alias("metric"), F.col(name).cast("double").alias("value"))
        for metric, name in columns.items()
    ]
    return F.explode(F.array(*rows)).alias("one")


def _is_odd() -> Column:
    value, usual, far = F.col("value"), F.col("usual"), F.col("deviation") * _TIMES
    late = (F.col("metric") == "p99_ms") & (value > usual * _LATENCY_TIMES) & (value - usual > far)
    off = (F.col("metric") != "p99_ms") & (F.abs(value - usual) > F.greatest(far, usual * _RATE_SHARE))
    return late | off
