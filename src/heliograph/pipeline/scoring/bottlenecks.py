"""What most likely kept a run from being faster, and how one can tell."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from heliograph.pipeline.scoring.raw import RawRuns

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
    said = f.first(f.when(f.col("kind") == "bottleneck", f.col("text")), ignorenulls=True)
    told = raw.table("events").groupBy("run").agg(said.alias("told"))
    known = costs.join(f.broadcast(told), "run", "left").withColumns(
        {
            "cpu_full": f.greatest(f.col("server_thread_percent"), f.col("server_percent") / _cores()),
            "memory_full": 100 * f.col("used_bytes") / (f.col("used_bytes") + f.col("available_bytes")),
            "line_full": _line_full(),
        }
    )
    suspects = (
        _suspect("broker cpu", "cpu_full", _FULL_CPU, _cpu_evidence()),
        _suspect("disk", "disk_percent", _FULL_DISK, _disk_evidence()),
        _suspect("memory", "memory_full", _FULL_MEMORY, _memory_evidence()),
        _suspect("network", "line_full", _FULL_LINE, _network_evidence()),
    )
    worst = f.greatest(*suspects)
    found = known.withColumn("worst", f.when(_generator_bound(), _generator()).otherwise(worst))
    return found.select(
        "run",
        f.coalesce(f.col("worst.bottleneck"), f.lit(NONE)).alias("bottleneck"),
        f.coalesce(f.col("worst.evidence"), _nothing()).alias("evidence"),
    )


def _suspect(name: str, column: str, limit: float, evidence: Column) -> Column:
    """Null below its limit; of several, the greatest is that which is furthest towards (or beyond) its limit."""
    share = f.col(column)
    verdict = f.struct((share / limit).alias("share"), f.lit(name).alias("bottleneck"), evidence.alias("evidence"))
    return f.when(share >= limit, verdict)


def _cores() -> Column:
    """How many cores the system may use: those it was given, else all."""
    given = f.size(f.from_json(f.get_json_object("machine", "$.system_cores"), "array<int>"))
    every = f.get_json_object("machine", "$.cpus").cast("double")
    return f.when(given > 0, given).otherwise(f.coalesce(every, f.lit(1.0)))


def _line_full() -> Column:
    """Per cent of the slowest line that could carry it."""
    bits = f.col("card_bytes") * 8 / 1e9
    return 100 * bits / _line(bits)


def _line(bits: Column) -> Column:
    return f.get(f.filter(f.array(*(f.lit(float(speed)) for speed in _LINES)), lambda speed: speed >= bits), f.lit(0))


def _generator_bound() -> Column:
    return f.col("generator_bound") | (f.col("generator_percent") >= _FULL_GENERATOR)


def _generator() -> Column:
    busy = f.format_string("a process of the generator used %.0f %% of a core", f.col("generator_percent"))
    evidence = f.coalesce(f.col("told"), f.when(f.col("generator_percent") >= _FULL_GENERATOR, busy), f.col("verdict"))
    return f.struct(f.lit(0.0).alias("share"), f.lit("generator").alias("bottleneck"), evidence.alias("evidence"))


def _cpu_evidence() -> Column:
    thread = f.format_string("its busiest thread used %.0f %% of a core", f.col("server_thread_percent"))
    whole = f.format_string(
        "it used %.2f of the %.0f cores that it may use", f.col("server_percent") / 100, _cores().cast("double")
    )
    is_thread = f.col("server_thread_percent") >= f.coalesce(f.col("server_percent") / _cores(), f.lit(0.0))
    return f.when(is_thread, thread).otherwise(whole)


def _disk_evidence() -> Column:
    return f.format_string("disk %s was busy %.0f %% of the time", f.col("disk_name"), f.col("disk_percent"))


def _memory_evidence() -> Column:
    left = f.col("available_bytes") / 2**20
    return f.format_string("%.1f %% of the memory were in use, %,.0f MiB were left", f.col("memory_full"), left)


def _network_evidence() -> Column:
    bits = f.col("card_bytes") * 8 / 1e9
    return f.format_string(
        "%s carried %.2f Gbit/s, %.0f %% of what a line of %.1f Gbit/s can",
        f.col("card_name"),
        bits,
        f.col("line_full"),
        _line(bits),
    )


def _nothing() -> Column:
    """How far everything was from its limit."""
    parts = f.concat_ws(
        ", ",
        _said("broker %.0f %% of its CPU", "cpu_full"),
        _said("generator %.0f %% of a core", "generator_percent"),
        _said("disk %.0f %%", "disk_percent"),
        _said("memory %.0f %%", "memory_full"),
        _said("network %.0f %%", "line_full"),
        _said("the whole machine %.0f %% busy, whoever used it", "machine_percent"),
    )
    return f.when(parts == "", "nothing was sampled").otherwise(parts)


def _said(text: str, column: str) -> Column:
    return f.when(f.col(column).isNotNull(), f.format_string(text, f.col(column)))
