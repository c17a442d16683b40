"""What distance costs: rates of tests with a delay on the line, in per cent of the same test without it."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from heliograph.pipeline.measurements.figures import FINAL

DIRECT = {"HA.DISTANCE": "HA2", "DR.DISTANCE": "DR2"}
"""Tests with a delay, and the same without."""
_SAME = ("target", "scale", "size", "alone")


def direct_table(figures: DataFrame) -> DataFrame:
    """`direct`: each run with a delay beside the median of direct ones with the same target, scale, size and clients."""
    rates = (
        figures.where(F.col("purpose").isin(*FINAL))
        .withColumn("rate", F.coalesce("round_trips", "received_rate"))
        .withColumn("size", F.get_json_object("parameters", "$.size"))
        .withColumn("alone", F.get_json_object("parameters", "$.clients") == "1")
    )
    partner = F.create_map(*(F.lit(word) for pair in DIRECT.items() for word in pair))[F.col("scenario")]
    usual = rates.groupBy(F.col("scenario").alias("direct"), *_SAME).agg(F.median("rate").alias("direct_rate"))
    return (
        rates.withColumn("direct", partner)
        .join(usual, ["direct", *_SAME])
        .where(F.col("direct_rate") > 0)
        .select("run", "direct", "rate", "direct_rate", (100 * F.col("rate") / F.col("direct_rate")).alias("percent"))
    )
