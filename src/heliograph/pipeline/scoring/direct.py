"""What distance costs: rates of tests with a delay on the line, in per cent of the same test without it."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from heliograph.pipeline.scoring.figures import FINAL

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
