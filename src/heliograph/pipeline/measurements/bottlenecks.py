"""What most likely kept a run from being faster, and how one can tell."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from heliograph.pipeline.measurements.raw import RawRuns

_FULL_CPU = 85.0
"""Per cent of a core, or of all cores that the system may use."""
_FULL_GENERATOR = 90.0
_FULL_DISK = 80.0
_FULL_MEMORY = 95.0
_FULL_LINE = 90.0
_LINES = (1, 2.5, 5, 10, 25, 40, 50, 100, 200, 400)
"""Gbit/s that network cards have. A card does not tell the load which of them it is; at 90 % of one it is thought to be
that one."""
NONE = "none found"


def bottleneck_table(raw: RawRuns, costs: DataFrame) -> DataFrame:
    """`bottlenecks`: the generator if it was at its limit, else the resource that was nearest to being used up."""
    said = F.first(F.when(F.col("kind") == "bottleneck", F.col("text")), ignorenulls=True)
    told = raw.table("events").groupBy("run").agg(said.alias("told"))
    known = costs.join(F.broadcast(told), "run", "left").withColumns(
        {
            "cpu_full": F.greatest(F.col("server_thread_percent"), F.col("server_percent") / _cores()),
            "memory_full": 100 * F.col("used_bytes") / (F.col("used_bytes") + F.col("available_bytes")),
            "line_full": _line_full(),
        }
    )
    suspects = (
        _suspect("broker cpu", "cpu_full", _FULL_CPU, _cpu_evidence()),
        _suspect("disk", "disk_percent", _FULL_DISK, _disk_evidence()),
        _suspect("memory", "memory_full", _FULL_MEMORY, _memory_evidence()),
        _suspect("network", "line_full", _FULL_LINE, _network_evidence()),
    )
    worst = F.greatest(*suspects)
    found = known.withColumn("worst", F.when(_generator_bound(), _generator()).otherwise(worst))
    return found.select(
        "run",
        F.coalesce(F.col("worst.bottleneck"), F.lit(NONE)).alias("bottleneck"),
        F.coalesce(F.col("worst.evidence"), _nothing()).alias("evidence"),
    )


def _suspect(name: str, column: str, limit: float, evidence: Column) -> Column:
    """Null below its limit; of several, the greatest is that which is furthest towards (or beyond) its limit."""
    share = F.col(column)
    verdict = F.struct(
        (share / limit).alias("share"), F.lit(name).alias("bottleneck"), evidence.alias("evidence")
    )
    return F.when(share >= limit, verdict)


def _cores() -> Column:
    """How many cores the system may use: those it was given, else all."""
    given = F.size(F.from_json(F.get_json_object("machine", "$.system_cores"), "array<int>"))
    every = F.get_json_object("machine", "$.cpus").cast("double")
    return F.when(given > 0, given).otherwise(F.coalesce(every, F.lit(1.0)))


def _line_full() -> Column:
    """Per cent of the slowest line that could carry it."""
    bits = F.col("card_bytes") * 8 / 1e9
    return 100 * bits / _line(bits)


def _line(bits: Column) -> Column:
    return F.get(F.filter(F.array(*(F.lit(float(speed)) for speed in _LINES)), lambda speed: speed >= bits), F.lit(0))


def _generator_bound() -> Column:
    return F.col("generator_bound") | (F.col("generator_percent") >= _FULL_GENERATOR)


def _generator() -> Column:
    busy = F.format_string("a process of the generator used %.0f %% of a core", F.col("generator_percent"))
    evidence = F.coalesce(F.col("told"), F.when(F.col("generator_percent") >= _FULL_GENERATOR, busy), F.col("verdict"))
    return F.struct(F.lit(0.0).alias("share"), F.lit("generator").alias("bottleneck"), evidence.alias("evidence"))


def _cpu_evidence() -> Column:
    thread = F.format_string("its busiest thread used %.0f %% of a core", F.col("server_thread_percent"))
    whole = F.format_string(
        "it used %.2f of the %.0f cores that it may use", F.col("server_percent") / 100, _cores().cast("double")
    )
    is_thread = F.col("server_thread_percent") >= F.col("server_percent") / _cores()
    return F.when(is_thread, thread).otherwise(whole)


def _disk_evidence() -> Column:
    return F.format_string("disk %s was busy %.0f %% of the time", F.col("disk_name"), F.col("disk_percent"))


def _memory_evidence() -> Column:
    left = F.col("available_bytes") / 2**20
    return F.format_string("%.1f %% of the memory were in use, %,.0f MiB were left", F.col("memory_full"), left)


def _network_evidence() -> Column:
    bits = F.col("card_bytes") * 8 / 1e9
    return F.format_string(
        "%s carried %.2f Gbit/s, %.0f %% of what a line of %.1f Gbit/s can",
        F.col("card_name"),
        bits,
        F.col("line_full"),
        _line(bits),
    )


def _nothing() -> Column:
    """How far everything was from its limit."""
    parts = F.concat_ws(
        ", ",
        F.format_string("broker %.0f %% of its CPU", F.col("cpu_full")),
        F.format_string("generator %.0f %% of a core", F.col("generator_percent")),
        F.when(F.col("disk_percent").isNotNull(), F.format_string("disk %.0f %%", F.col("disk_percent"))),
        F.format_string("memory %.0f %%", F.col("memory_full")),
        F.when(F.col("line_full").isNotNull(), F.format_string("network %.0f %%", F.col("line_full"))),
        F.format_string("the whole machine %.0f %% busy, whoever used it", F.col("machine_percent")),
    )
    return F.when(F.col("machine_percent").isNull(), "nothing was sampled").otherwise(parts)
