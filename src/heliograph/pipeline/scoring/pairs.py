"""Targets that took turns in one experiment, two by two."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from heliograph.pipeline.scoring.figures import FIGURES, FINAL
from heliograph.pipeline.scoring.ratios import ratios

_SUBJECT = ("experiment", "scenario", "variant")


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
