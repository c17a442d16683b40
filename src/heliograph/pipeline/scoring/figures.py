"""One row for each run: what it was, and the figures that runs are compared by."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from heliograph.pipeline.scoring.latencies import main_kind

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


def figure_table(costs: DataFrame, percentiles: DataFrame) -> DataFrame:
    """`figures`; latencies are of what the load is about, in the group that had most of it."""
    mains = percentiles.groupBy("run").agg(main_kind().alias("kind"))
    chosen = (
        percentiles.join(f.broadcast(mains), ["run", "kind"])
        .groupBy("run", f.col("kind").alias("latency_kind"))
        .agg(*(f.max_by(name, "count").alias(name) for name in _LATENCIES))
    )
    return costs.join(chosen, "run", "left").select(*_ABOUT, "latency_kind", *FIGURES)
