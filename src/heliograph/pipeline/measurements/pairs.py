"""Targets that took turns in one experiment, two by two."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from heliograph.pipeline.measurements.figures import FIGURES, FINAL
from heliograph.pipeline.measurements.ratios import ratios

_SUBJECT = ("experiment", "scenario", "variant")


def pair_table(figures: DataFrame) -> DataFrame:
    """`pairs`: every two targets of an experiment; A is the one that had the first turn."""
    runs = figures.where(F.col("purpose").isin(*FINAL))
    targets = runs.groupBy(*_SUBJECT, "target").agg(F.min(F.struct("started", "run")).alias("first"))
    others = targets.select(*_SUBJECT, F.col("target").alias("b"), F.col("first").alias("later"))
    two = targets.withColumnRenamed("target", "a").join(others, [*_SUBJECT]).where(F.col("first") < F.col("later"))
    samples = long_form(runs, [*_SUBJECT, "target", "round"]).join(two, [*_SUBJECT])
    sides = samples.where(F.col("target").isin(F.col("a"), F.col("b"))).select(
        *_SUBJECT,
        "a",
        "b",
        F.when(F.col("target") == F.col("a"), "A").otherwise("B").alias("side"),
        F.col("round").cast("string").alias("block"),
        "metric",
        "value",
    )
    return ratios(sides, [*_SUBJECT, "a", "b"]).drop("a_runs", "b_runs")


def long_form(figures: DataFrame, keys: list[str], metrics: tuple[str, ...] = FIGURES) -> DataFrame:
    """A row for each run and figure: `metric` and `value`."""
    values = [F.struct(F.lit(name).alias("metric"), F.col(name).cast("double").alias("value")) for name in metrics]
    return figures.select(*keys, F.explode(F.array(*values)).alias("one")).select(*keys, "one.metric", "one.value")
