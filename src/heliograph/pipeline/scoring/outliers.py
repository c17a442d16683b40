"""Seconds that were not like the others of their run."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from heliograph.pipeline.scoring.latencies import ALL

_LEAST_SECONDS = 5
"""With fewer, nothing is usual."""
_TIMES = 6 * 1.4826
"""Median deviations: six standard deviations, if all were chance."""
_RATE_SHARE = 0.25
_LATENCY_TIMES = 2.0
"""A tail that is half as long is no trouble for anybody."""


def outlier_table(seconds: DataFrame, latencies: DataFrame) -> DataFrame:
    """`outliers`: rates that are far from the median of the run, and 99P that are far above it."""
    inside = seconds.where((f.col("second") >= 0) & (f.col("second") < f.floor("seconds")))
    counted = inside.select("run", "second", "group", _as_rows({"sent_rate": "sent", "received_rate": "received"}))
    waits = latencies.where((f.col("group") != ALL) & (f.col("second") >= 0))
    waited = waits.select("run", "second", "group", _as_rows({"p99_ms": "p99_ms"}))
    values = counted.unionByName(waited).select("run", "second", "group", "one.*")
    alike = Window.partitionBy("run", "group", "metric")
    judged = (
        values.withColumn("usual", f.median("value").over(alike))
        .withColumn("deviation", f.median(f.abs(f.col("value") - f.col("usual"))).over(alike))
        .withColumn("known", f.count("*").over(alike))
    )
    odd = judged.where((f.col("known") >= _LEAST_SECONDS) & (f.col("usual") > 0) & _is_odd())
    return odd.select("run", "second", "group", "metric", "value", "usual")


def _as_rows(columns: dict[str, str]) -> Column:
    rows = [
        f.struct(f.lit(metric).alias("metric"), f.col(name).cast("double").alias("value"))
        for metric, name in columns.items()
    ]
    return f.explode(f.array(*rows)).alias("one")


def _is_odd() -> Column:
    value, usual, far = f.col("value"), f.col("usual"), f.col("deviation") * _TIMES
    late = (f.col("metric") == "p99_ms") & (value > usual * _LATENCY_TIMES) & (value - usual > far)
    off = (f.col("metric") != "p99_ms") & (f.abs(value - usual) > f.greatest(far, usual * _RATE_SHARE))
    return late | off
