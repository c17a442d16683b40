"""Tables of latency: percentiles and distributions of each group and kind, and percentiles second by second.

Percentiles come from log-linear histograms, in expressions of Spark's own. A bucket is named by the greatest value in
it. With 8 bits there are 256 buckets for every power of two, so a value is known within 1/256. Counts are exact, and
two histograms are merged by adding them.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from heliograph.pipeline.scoring.raw import RawRuns

ALL = ""
"""In place of a group: all of them together."""
_KEYS = ("run", "group", "kind")
_MOSTLY_BEFORE = ("connect", "subscribe")
"""What clients do before the measured time begins, and what counts whenever it is done."""
_MAIN = ("message", "round_trip", "connect")
"""What a load is about: the first of these that was measured."""
_COARSE_BITS = 5
"""Of distributions, which are for the eye."""
_MS = 1e6
BITS = 8
PERCENTILES = {"p50": 5000, "p75": 7500, "p90": 9000, "p95": 9500, "p99": 9900, "p999": 9990, "p9999": 9999}
"""In parts of ten thousand, which are whole numbers: ranks must not depend on how fractions are rounded."""


def merged(raw: RawRuns) -> DataFrame:
    """The histogram of each group and kind over the measured time."""
    counted = raw.timed("latencies").where(_counts())
    return counted.groupBy(*_KEYS, "bucket").agg(f.sum("count").alias("count"))


def percentile_table(raw: RawRuns, histograms: DataFrame) -> DataFrame:
    """`percentiles`: what can be known exactly is from the totals, the rest from the histograms."""
    totals = raw.timed("latency_totals").where(_counts()).groupBy(*_KEYS).agg(*_totals())
    mean = f.col("sum_ns").cast("double") / f.col("count")
    spread = f.sqrt(f.greatest(f.lit(0.0), f.col("sum_squares") / f.col("count") - mean * mean))
    within = {name: f.least(f.col(name), f.col("max_ns")) for name in PERCENTILES}
    return (
        totals.where(f.col("count") > 0)
        .join(percentiles(histograms, _KEYS), [*_KEYS])
        .select(
            *_KEYS,
            "count",
            (f.col("min_ns") / _MS).alias("min_ms"),
            (mean / _MS).alias("avg_ms"),
            *((value / _MS).alias(f"{name}_ms") for name, value in within.items()),
            (f.col("max_ns") / _MS).alias("max_ms"),
            (spread / _MS).alias("stdev_ms"),
        )
    )


def distribution_table(histograms: DataFrame) -> DataFrame:
    """`distributions`: how many took up to so long, in buckets of about 3 %."""
    coarse = histograms.groupBy(*_KEYS, bucket_of(f.col("bucket"), _COARSE_BITS).alias("bucket"))
    return coarse.agg(f.sum("count").alias("count")).select(*_KEYS, (f.col("bucket") / _MS).alias("bucket_ms"), "count")


def by_second(raw: RawRuns) -> DataFrame:
    """Average and 99P of what the load is about, in each second, of each group and of ALL: `avg_ms`, `p99_ms`."""
    keys = ("run", "second", "group", "kind")
    tails = percentiles(_twice(raw.timed("latencies")), keys, {"p99": PERCENTILES["p99"]})
    totals = _twice(raw.timed("latency_totals")).groupBy(*keys).agg(*_totals()).where(f.col("count") > 0)
    both = totals.join(tails, [*keys]).withColumn("main", main_kind().over(Window.partitionBy("run")))
    return both.where(f.col("kind") == f.col("main")).select(
        "run",
        "second",
        "group",
        (f.col("sum_ns").cast("double") / f.col("count") / _MS).alias("avg_ms"),
        (f.least("p99", "max_ns") / _MS).alias("p99_ms"),
    )


def main_kind() -> Column:
    """Of some rows with a `kind`, that which the load is about; null if none of them is."""
    order = f.array_position(f.array(*map(f.lit, _MAIN)), f.col("kind"))
    return f.min_by("kind", f.when(order > 0, order))


def _twice(rows: DataFrame) -> DataFrame:
    """Rows of main kinds up to the end of the measured time, for their group and for ALL."""
    useful = rows.where(f.col("kind").isin(*_MAIN) & (f.col("second") < f.col("seconds")))
    return useful.withColumn("group", f.explode(f.array(f.col("group"), f.lit(ALL))))


def _counts() -> Column:
    measured = (f.col("second") >= 0) & (f.col("second") < f.col("seconds"))
    return f.col("kind").isin(*_MOSTLY_BEFORE) | measured


def _totals() -> tuple[Column, ...]:
    # Billions of slow messages add up to more nanoseconds than a long holds.
    nanoseconds = f.sum(f.col("sum_ns").cast("decimal(19,0)")).alias("sum_ns")
    return (
        f.sum("count").alias("count"),
        f.min("min_ns").alias("min_ns"),
        f.max("max_ns").alias("max_ns"),
        nanoseconds,
        f.sum("sum_squares").alias("sum_squares"),
    )


def bucket_of(value: Column, bits: int = BITS) -> Column:
    """The bucket of a whole number above 0, or of a bucket of more bits."""
    # A number and a half is never so near to a power of two that its logarithm could be rounded to the other side.
    exponent = f.floor(f.log2(value + f.lit(0.5))).cast("int")
    shift = f.greatest(f.lit(0), exponent - bits)
    # Shifts by a column have no function in Python's interface, but in SQL.
    whole = f.call_function("shiftleft", f.call_function("shiftright", value.cast("long"), shift), shift)
    return whole + f.call_function("shiftleft", f.lit(1).cast("long"), shift) - 1


def percentiles(histograms: DataFrame, keys: Sequence[str], wanted: Mapping[str, int] = PERCENTILES) -> DataFrame:
    """For each key, the least value that so many of its values do not exceed; `histograms` has `bucket` and `count`."""
    together = Window.partitionBy(*keys)
    counted = histograms.select(
        *keys,
        "bucket",
        f.sum("count").over(together.orderBy("bucket")).alias("until"),
        f.sum("count").over(together).alias("total"),
    )
    return counted.groupBy(*keys).agg(
        *(f.min(f.when(f.col("until") >= _rank(part), f.col("bucket"))).alias(name) for name, part in wanted.items())
    )


def _rank(part: int) -> Column:
    return f.expr(f"greatest(1, (total * {part} + 9999) div 10000)")
