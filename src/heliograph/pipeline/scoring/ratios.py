"""Whether A is really better than B: ratios of two sides with a confidence interval, and a verdict.

Logarithms of values are compared, so that twice as much and half as much are equally far. Where both sides have a value
in the same block (a round of interleaved runs), their differences are compared: what slowed down the whole round
cancels out. Otherwise it is Welch's test, which allows for different variances. `pair_table` applies this to each two
targets that took turns in one experiment; quantiles of Student's t are computed here, because Spark has none.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from heliograph.pipeline.scoring.costs import FIGURES, FINAL, HIGHER_IS_BETTER

CONFIDENCE = 0.95
NEGLIGIBLE = 1.01
"""A ratio nearer to 1 is no difference, however sure it is: buckets of latencies are known within 0.4 % themselves."""
A_BETTER, B_BETTER, NONE_SHOWN = "A better", "B better", "no difference shown"
_MOST_FREEDOM = 100
_SUBJECT = ("experiment", "scenario", "variant")


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


def quantile(probability: float, freedom: float) -> float:
    """The value that a t of so many degrees of freedom does not exceed with this probability, above one half."""
    low, high = 0.0, 1.0
    while _below(high, freedom) < probability:
        high *= 2
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _below(middle, freedom) < probability else (low, middle)
    return (low + high) / 2


def table(confidence: float, most: int) -> list[float]:
    """Half the width of an interval in standard errors, for 1 to `most` degrees of freedom, then for endless ones."""
    probability = (1 + confidence) / 2
    return [quantile(probability, freedom) for freedom in range(1, most + 1)] + [NormalDist().inv_cdf(probability)]


def _below(value: float, freedom: float) -> float:
    """The probability of less, for whole degrees of freedom: Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = math.atan(value / math.sqrt(freedom))
    cosine = math.cos(angle) ** 2
    odd = int(freedom) % 2
    term = math.cos(angle) if odd else 1.0
    total = term if int(freedom) > 1 else 0.0
    for step in range(3 if odd else 2, int(freedom) - 1, 2):
        term *= cosine * (step - 1) / step
        total += term
    two_sided = 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
    return (1 + two_sided) / 2


def pair_table(figures: DataFrame) -> DataFrame:
    """`pairs`: every two targets of an experiment; A is the one that had the first turn."""
    runs = figures.where(f.col("purpose").isin(*FINAL))
    targets = runs.groupBy(*_SUBJECT, "target").agg(f.min(f.struct("started", "run")).alias("first"))
    others = targets.select(*_SUBJECT, f.col("target").alias("b"), f.col("first").alias("later"))
    two = targets.withColumnRenamed("target", "a").join(others, [*_SUBJECT]).where(f.col("first") < f.col("later"))
    samples = long_form(runs, [*_SUBJECT, "target", "round"]).join(two, [*_SUBJECT])
    sides = samples.where(f.col("target").isin(f.col("a"), f.col("b"))).select(
        *_SUBJECT,
        "a",
        "b",
        f.when(f.col("target") == f.col("a"), "A").otherwise("B").alias("side"),
        f.col("round").cast("string").alias("block"),
        "metric",
        "value",
    )
    return ratios(sides, [*_SUBJECT, "a", "b"]).drop("a_runs", "b_runs")


def long_form(figures: DataFrame, keys: list[str], metrics: tuple[str, ...] = FIGURES) -> DataFrame:
    """A row for each run and figure: `metric` and `value`."""
    values = [f.struct(f.lit(name).alias("metric"), f.col(name).cast("double").alias("value")) for name in metrics]
    return figures.select(*keys, f.explode(f.array(*values)).alias("one")).select(*keys, "one.metric", "one.value")
