"""Percentiles from log-linear histograms, in expressions of Spark's own.

A bucket is named by the greatest value in it. With 8 bits there are 256 buckets for every power of two, so that a value
is known within 1/256; counts are exact, and two histograms are merged by adding them.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

BITS = 8
PERCENTILES = {"p50": 5000, "p75": 7500, "p90": 9000, "p95": 9500, "p99": 9900, "p999": 9990, "p9999": 9999}
"""In parts of ten thousand, which are whole numbers: ranks must not depend on how fractions are rounded."""


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
