"""Is A really better than B: ratios of two sides with a confidence interval, and a verdict.

Logarithms of values are compared, so that twice as much and half as much are equally far. Where both sides have a value
in the same block (a round of interleaved runs), their differences are what counts: what slowed down the whole round
falls out. Otherwise it is Welch's test, which does not take both sides for equally noisy.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from heliograph.pipeline.measurements.figures import HIGHER_IS_BETTER
from heliograph.pipeline.measurements.student import table

CONFIDENCE = 0.95
NEGLIGIBLE = 1.01
"""A ratio nearer to 1 is no difference, however sure it is: buckets of latencies are known within 0.4 % themselves."""
A_BETTER, B_BETTER, NONE_SHOWN = "A better", "B better", "no difference shown"
_MOST_FREEDOM = 100


def ratios(samples: DataFrame, keys: Sequence[str], confidence: float = CONFIDENCE) -> DataFrame:
    """A row for each key and metric that both sides have.

    `samples` has `side` (A or B), `block`, `metric` and `value`; the interval is null where there are too few values.
    """
    logs = samples.where(F.col("value") > 0).withColumn("log", F.ln("value"))
    blocks = logs.groupBy(*keys, "metric", "block").agg(_side("A").alias("a"), _side("B").alias("b"))
    both = F.col("a") - F.col("b")
    found = blocks.groupBy(*keys, "metric").agg(
        *(F.exp(F.median(side)).alias(f"{side}_median") for side in ("a", "b")),
        *(F.count(side).alias(f"{side}_runs") for side in ("a", "b")),
        F.count(both).alias("rounds"),
        F.avg(both).alias("paired"),
        (F.var_samp(both) / F.count(both)).alias("paired_error"),
        (F.avg("a") - F.avg("b")).alias("apart"),
        *((F.var_samp(side) / F.count(side)).alias(f"{side}_error") for side in ("a", "b")),
    )
    judged = found.where((F.col("a_runs") > 0) & (F.col("b_runs") > 0)).withColumns(_chosen())
    return _with_verdict(judged.withColumn("half", _half(confidence))).select(
        *keys, "metric", "a_median", "b_median", "a_runs", "b_runs", "ratio", "low", "high", "verdict"
    )


def _side(side: str) -> Column:
    return F.avg(F.when(F.col("side") == side, F.col("log")))


def _chosen() -> dict[str, Column]:
    """Difference, its squared error and its degrees of freedom, by rounds or by runs."""
    is_paired = F.col("rounds") >= 2
    a, b = F.col("a_error"), F.col("b_error")
    each = F.try_divide(a * a, F.col("a_runs") - 1) + F.try_divide(b * b, F.col("b_runs") - 1)
    welch = F.try_divide((a + b) * (a + b), each)
    enough = (F.col("a_runs") >= 2) & (F.col("b_runs") >= 2)
    freedom = F.coalesce(F.floor(welch), F.least("a_runs", "b_runs") - 1)
    return {
        "difference": F.when(is_paired, F.col("paired")).otherwise(F.col("apart")),
        "error": F.when(is_paired, F.col("paired_error")).when(enough, a + b),
        "freedom": F.when(is_paired, F.col("rounds") - 1).when(enough, F.greatest(F.lit(1), freedom)),
    }


def _half(confidence: float) -> Column:
    """Half the width of the interval, for the logarithm."""
    widths = F.array(*map(F.lit, table(confidence, _MOST_FREEDOM)))
    width = F.element_at(widths, F.least(F.col("freedom"), F.lit(_MOST_FREEDOM + 1)).cast("int"))
    return width * F.sqrt("error")


def _with_verdict(rows: DataFrame) -> DataFrame:
    more = F.col("metric").isin(*HIGHER_IS_BETTER)
    judged = rows.withColumns(
        {
            "ratio": F.exp("difference"),
            "low": F.exp(F.col("difference") - F.col("half")),
            "high": F.exp(F.col("difference") + F.col("half")),
        }
    )
    above, below = F.col("low") > NEGLIGIBLE, F.col("high") < 1 / NEGLIGIBLE
    verdict = (
        F.when((above & more) | (below & ~more), A_BETTER)
        .when((above & ~more) | (below & more), B_BETTER)
        .otherwise(NONE_SHOWN)
    )
    return judged.withColumn("verdict", verdict)
