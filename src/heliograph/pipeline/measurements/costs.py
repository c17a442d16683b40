"""What a message costs: CPU, memory, energy, room in a rack, disk."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from heliograph.pipeline.measurements.raw import RawRuns
from heliograph.pipeline.measurements.rates import RECEIVERS, SENDERS

_GB = 2**30


def traffic(rates: DataFrame) -> DataFrame:
    """Messages per second of each run: in, out, answered; and `message_rate`, those that costs are shared among.

    These are the messages that came out, round trips among them; those that went in, where none was to come out.
    """
    request = F.when(F.col("role") == "request", F.col("received_rate"))
    found = rates.groupBy("run").agg(
        _sum_of("sent_rate", SENDERS).alias("sent_rate"),
        _sum_of("received_rate", RECEIVERS).alias("received_rate"),
        F.sum(request).alias("round_trips"),
        _sum_of("sustained_rate", (*RECEIVERS, "request")).alias("sustained_rate"),
        F.max("connect_seconds").alias("connect_seconds"),
    )
    out = F.coalesce(F.col("received_rate"), F.lit(0.0)) + F.coalesce(F.col("round_trips"), F.lit(0.0))
    rate = F.when(out > 0, out).when(F.col("sent_rate") > 0, F.col("sent_rate"))
    return found.withColumn("message_rate", rate)


def with_costs(raw: RawRuns, use: DataFrame, flow: DataFrame) -> DataFrame:
    """One row for every run: its manifest, what was used, and what that is for each message."""
    rate = F.col("message_rate")
    return (
        raw.manifest.join(use, "run", "left")
        .join(flow, "run", "left")
        .withColumns(
            {
                "server_cpu_ms_per_message": 1000 * F.col("server_cpu_cores") / rate,
                "connections_per_gb": _over(F.col("connections") * F.lit(_GB), F.col("rss_bytes")),
                "messages_per_watt": _over(rate, F.col("watts")),
                "messages_per_unit": _over(rate, F.col("rack_units")),
                "context_switches_per_message": F.col("switches") / rate,
                "disk_bytes_per_message": F.col("disk_bytes") / rate,
            }
        )
    )


def cost_table(costs: DataFrame) -> DataFrame:
    """`costs`."""
    return costs.select(
        "run",
        "server_cpu_ms_per_message",
        "server_cpu_cores",
        "generator_cpu_cores",
        "busiest_core_percent",
        "rss_bytes",
        "connections_per_gb",
        "watts",
        "messages_per_watt",
        "messages_per_unit",
        "high_water",
        "discarded",
        "context_switches_per_message",
        "disk_bytes_per_message",
    )


def _sum_of(name: str, roles: tuple[str, ...]) -> Column:
    return F.sum(F.when(F.col("role").isin(*roles), F.col(name)))


def _over(part: Column, whole: Column) -> Column:
    return F.when(whole > 0, part / whole)
