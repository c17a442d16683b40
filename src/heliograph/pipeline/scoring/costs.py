"""One row for each run: what a message cost (CPU, memory, energy, disk), and the figures that runs are compared by."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from heliograph.pipeline.scoring.latencies import main_kind
from heliograph.pipeline.scoring.rates import RECEIVERS, SENDERS
from heliograph.pipeline.scoring.raw import RawRuns

_GB = 2**30
_ABOUT = (
    *("run", "experiment", "scenario", "variant", "target", "target_version", "scale", "round", "purpose", "started"),
    *("parameters", "connections", "passed", "generator_bound"),
)
_RATES = ("sent_rate", "received_rate", "round_trips", "sustained_rate", "connect_seconds")
_LATENCIES = ("avg_ms", "p50_ms", "p99_ms", "max_ms")
_COSTS = ("server_cpu_ms_per_message", "server_cpu_cores", "rss_bytes", "messages_per_watt")
FIGURES = (*_RATES, *_LATENCIES, *_COSTS)
HIGHER_IS_BETTER = ("sent_rate", "received_rate", "round_trips", "sustained_rate", "messages_per_watt")
FINAL = ("measure", "confirm")
"""Purposes of runs that count: those of a search on its way do not."""


def traffic(rates: DataFrame) -> DataFrame:
    """Messages per second of each run: in, out, answered; and `message_rate`, those that costs are shared among.

    These are the messages that came out, round trips among them; those that went in, where none was to come out.
    """
    request = f.when(f.col("role") == "request", f.col("received_rate"))
    found = rates.groupBy("run").agg(
        _sum_of("sent_rate", SENDERS).alias("sent_rate"),
        _sum_of("received_rate", RECEIVERS).alias("received_rate"),
        f.sum(request).alias("round_trips"),
        _sum_of("sustained_rate", (*RECEIVERS, "request")).alias("sustained_rate"),
        f.max("connect_seconds").alias("connect_seconds"),
    )
    out = f.coalesce(f.col("received_rate"), f.lit(0.0)) + f.coalesce(f.col("round_trips"), f.lit(0.0))
    rate = f.when(out > 0, out).when(f.col("sent_rate") > 0, f.col("sent_rate"))
    return found.withColumn("message_rate", rate)


def with_costs(raw: RawRuns, use: DataFrame, flow: DataFrame) -> DataFrame:
    """One row for every run: its manifest, what was used, and what that is for each message."""
    rate = f.col("message_rate")
    return (
        raw.manifest.join(use, "run", "left")
        .join(flow, "run", "left")
        .withColumns(
            {
                "server_cpu_ms_per_message": 1000 * f.col("server_cpu_cores") / rate,
                "connections_per_gb": _over(f.col("connections") * f.lit(_GB), f.col("rss_bytes")),
                "messages_per_watt": _over(rate, f.col("watts")),
                "messages_per_unit": _over(rate, f.col("rack_units")),
                "context_switches_per_message": f.col("switches") / rate,
                "disk_bytes_per_message": f.col("disk_bytes") / rate,
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
    return f.sum(f.when(f.col("role").isin(*roles), f.col(name)))


def _over(part: Column, whole: Column) -> Column:
    return f.when(whole > 0, part / whole)


def figure_table(costs: DataFrame, percentiles: DataFrame) -> DataFrame:
    """`figures`; latencies are of what the load is about, in the group that had most of it."""
    mains = percentiles.groupBy("run").agg(main_kind().alias("kind"))
    chosen = (
        percentiles.join(f.broadcast(mains), ["run", "kind"])
        .groupBy("run", f.col("kind").alias("latency_kind"))
        .agg(*(f.max_by(name, "count").alias(name) for name in _LATENCIES))
    )
    return costs.join(chosen, "run", "left").select(*_ABOUT, "latency_kind", *FIGURES)
