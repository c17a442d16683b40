"""Is A really better than B: ratios of two sides with a confidence interval, and a verdict.

Logarithms of values are compared, so that twice as much and half as much are equally far. Where both sides have a value
in the same block (a round of interleaved runs), their differences are what counts: what slowed down the whole round
falls out. Otherwise it is Welch's test, which does not take both sides for equally noisy.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from heliograph.pipeline.scoring.figures import HIGHER_IS_BETTER
from heliograph.pipeline.scoring.student import table

CONFIDENCE = 0.95
NEGLIGIBLE = 1.01
"""A ratio nearer to 1 is no difference, however sure it is: buckets of latencies are known within 0.4 % themselves."""
A_BETTER, B_BETTER, NONE_SHOWN = "A better", "B better", "no difference shown"
_MOST_FREEDOM = 100


def ratios(samples: DataFrame, keys: Sequence[str], confidence: float = CONFIDENCE) -> DataFrame:
    """A row for each key and metric that both sides have.

    `samples` has `side` (A or B), `block`, `metric` and `value`; the interval is null where there are too few values.
    """
    logs = samples.where(f.col("value") > 0).withColumn("log", f.ln("value"))
    blocks = logs.groupBy(*keys, "metric", "block").agg(
        *(_mean(side, name).alias(f"{name}_{side}") for side in ("a", "b") for name in ("log", "value"))
    )
    both = f.col("log_a") - f.col("log_b")
    found = blocks.groupBy(*keys, "metric").agg(
        *(f.median(f"value_{side}").alias(f"{side}_median") for side in ("a", "b")),
        *(f.count(f"log_{side}").alias(f"{side}_runs") for side in ("a", "b")),
        f.count(both).alias("rounds"),
        f.avg(both).alias("paired"),
        _error(both).alias("paired_error"),
        (f.avg("log_a") - f.avg("log_b")).alias("apart"),
        *(_error(f.col(f"log_{side}")).alias(f"{side}_error") for side in ("a", "b")),
    )
    judged = found.where((f.col("a_runs") > 0) & (f.col("b_runs") > 0)).withColumns(_chosen())
    return _with_verdict(judged.withColumn("half", _half(confidence))).select(
        *keys, "metric", "a_median", "b_median", "a_runs", "b_runs", "ratio", "low", "high", "verdict"
    )


def _mean(side: str, name: str) -> Column:
    return f.avg(f.when(f.col("side") == side.upper(), f.col(name)))


def _error(values: Column) -> Column:
    """The squared standard error of their mean; null for a single one."""
    return f.try_divide(f.var_samp(values), f.count(values))


def _chosen() -> dict[str, Column]:
    """Difference, its squared error and its degrees of freedom, by rounds or by runs."""
    is_paired = f.col("rounds") >= 2
    a, b = f.col("a_error"), f.col("b_error")
    each = f.try_divide(a * a, f.col("a_runs") - 1) + f.try_divide(b * b, f.col("b_runs") - 1)
    welch = f.try_divide((a + b) * (a + b), each)
    enough = (f.col("a_runs") >= 2) & (f.col("b_runs") >= 2)
    freedom = f.coalesce(f.floor(welch), f.least("a_runs", "b_runs") - 1)
    return {
        "difference": f.when(is_paired, f.col("paired")).otherwise(f.col("apart")),
        "error": f.when(is_paired, f.col("paired_error")).when(enough, a + b),
        "freedom": f.when(is_paired, f.col("rounds") - 1).when(enough, f.greatest(f.lit(1), freedom)),
    }


def _half(confidence: float) -> Column:
    """Half the width of the interval, for the logarithm."""
    widths = f.array(*map(f.lit, table(confidence, _MOST_FREEDOM)))
    width = f.element_at(widths, f.least(f.col("freedom"), f.lit(_MOST_FREEDOM + 1)).cast("int"))
    return width * f.sqrt("error")


def _with_verdict(rows: DataFrame) -> DataFrame:
    more = f.col("metric").isin(*HIGHER_IS_BETTER)
    judged = rows.withColumns(
        {
            "ratio": f.exp("difference"),
            "low": f.exp(f.col("difference") - f.col("half")),
            "high": f.exp(f.col("difference") + f.col("half")),
        }
    )
    above, below = f.col("low") > NEGLIGIBLE, f.col("high") < 1 / NEGLIGIBLE
    verdict = (
        f.when((above & more) | (below & ~more), A_BETTER)
        .when((above & ~more) | (below & more), B_BETTER)
        .otherwise(NONE_SHOWN)
    )
    return judged.withColumn("verdict", verdict)
