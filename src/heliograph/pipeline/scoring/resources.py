"""What probes saw in the measured time: one row for each run, with the use of each resource."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from heliograph.pipeline.scoring.raw import RawRuns

_AROUND = 0.5
"""Probes look once a second, at any time of it: looks so near to the measured time belong to it."""
_LOOPBACK = ("lo", "lo0")


def resource_use(raw: RawRuns) -> DataFrame:
    """Null wherever nothing was sampled. Counters are turned into what was used in a second."""
    return (
        _series(raw)
        .groupBy("run")
        .agg(*(column.alias(name) for name, column in {**_of_processes(), **_of_machine(), **_of_server()}.items()))
    )


def _series(raw: RawRuns) -> DataFrame:
    """Each metric of each thing: its average, its extremes, how it grew in a second, and in the whole run."""
    at, value = f.col("at"), f.col("value")
    inside = (at >= -_AROUND) & (at <= f.col("seconds") + _AROUND)
    when = f.when(inside, at)
    grown = f.max_by(value, when) - f.min_by(value, when)
    passed = f.max(when) - f.min(when)
    return (
        raw.timed("samples")
        .groupBy("run", "source", "name", "metric")
        .agg(
            # The first look after the beginning is at time that was spent before it.
            f.coalesce(f.avg(f.when(inside & (at > _AROUND), value)), f.avg(f.when(inside, value))).alias("mean"),
            f.min(f.when(inside, value)).alias("least"),
            f.max(f.when(inside, value)).alias("most"),
            f.when(passed > 0, grown / passed).alias("growth"),
            (f.max_by(value, at) - f.min_by(value, at)).alias("in_all"),
            f.max(value).alias("highest"),
            (f.max(value) - f.min_by(value, at)).alias("rise"),
        )
    )


def _of_processes() -> dict[str, Column]:
    return {
        "server_cpu_cores": _sum("server", "cpu_seconds", "growth"),
        "generator_cpu_cores": _sum("generator", "cpu_seconds", "growth"),
        "server_thread_percent": _max("server", "busiest_thread_percent", "mean"),
        "server_percent": _sum("server", "cpu_percent", "mean"),
        "generator_percent": _max("generator", "cpu_percent", "mean"),
        "generator_waited_percent": _max("generator", "waited_percent", "highest"),
        "rss_bytes": _sum("server", "rss_bytes", "most"),
        "switches": _sum("server", "context_switches", "growth"),
        "disk_bytes": f.sum(
            f.when(_is("server") & f.col("metric").isin("read_bytes", "written_bytes"), f.col("growth"))
        ),
    }


def _of_machine() -> dict[str, Column]:
    card = f.when(
        _is("network")
        & f.col("metric").isin("sent_bytes", "received_bytes")
        & ~f.col("name").isin(*_LOOPBACK)
        & ~f.col("name").startswith("veth"),
        f.col("growth"),
    )
    disk = _value("disk", "busy_percent", "mean")
    return {
        "busiest_core_percent": _max("core", "busy_percent", "mean"),
        "machine_percent": _max("machine", "busy_percent", "mean"),
        "available_bytes": _min("machine", "available_bytes", "least"),
        "used_bytes": _max("machine", "used_bytes", "most"),
        "disk_percent": f.max(disk),
        "disk_name": f.max_by("name", disk),
        "card_bytes": f.max(card),
        "card_name": f.max_by("name", card),
        "watts": _sum("power", "watts", "mean"),
    }


def _of_server() -> dict[str, Column]:
    """What it says of itself."""
    marks = f.max(f.when(f.col("metric") == "high_water", f.col("highest")))
    return {
        "high_water": f.coalesce(marks, _max("server", "depth", "rise")),
        "discarded": _sum("server", "discarded", "in_all"),
    }


def _is(source: str) -> Column:
    return f.col("source") == source


def _value(source: str, metric: str, figure: str) -> Column:
    return f.when(_is(source) & (f.col("metric") == metric), f.col(figure))


def _of(aggregate: Callable[[Column], Column]) -> Callable[[str, str, str], Column]:
    return lambda source, metric, figure: aggregate(_value(source, metric, figure))


_sum, _max, _min = _of(f.sum), _of(f.max), _of(f.min)
