"""Tables of what was sent and received: rates of each group, and the course of each run."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from heliograph.pipeline.scoring.latencies import ALL
from heliograph.pipeline.scoring.raw import COUNTS, RawRuns

SENDERS = ("publish", "both", "request", "flow")
RECEIVERS = ("consume", "both", "flow")
_PARTS = 3
"""A rate is sustained if it held in each part of the time."""


def counted_by_second(raw: RawRuns) -> DataFrame:
    """Counters of each group and second, all processes of the generator together."""
    rows = raw.timed("counters").groupBy("run", "second", "group", "role", "seconds")
    return rows.agg(*(f.sum(name).alias(name) for name in COUNTS))


def rate_table(raw: RawRuns, seconds: DataFrame) -> DataFrame:
    """`rates`: counts and rates of the measured time; what went wrong counts whenever it did."""
    start = f.coalesce(f.get_json_object("plan", "$.warm_up").cast("double"), f.lit(0.0))
    warm_up = raw.manifest.select("run", (-start).alias("start"))
    most = f.max("connected").over(Window.partitionBy("run", "group"))
    rows = seconds.withColumn("most", most).join(f.broadcast(warm_up), "run")
    found = rows.groupBy("run", "group", "role", "seconds").agg(
        *(f.sum(f.when(_measured(), f.col(name))).alias(name) for name in ("sent", "received")),
        f.sum(f.when(_measured(), f.col("bytes_sent") + f.col("bytes_received"))).alias("bytes"),
        # A gap that opened and was filled later is no loss; the late message was counted as reordered.
        f.greatest(f.lit(0), f.sum("lost") - f.sum("reordered")).alias("gaps"),
        *(f.sum(name).alias(name) for name in ("duplicates", "reordered", "errors")),
        f.max(f.when(_measured(), f.col("connected"))).alias("connected"),
        f.least(*(_part(number) for number in range(_PARTS))).alias("sustained_rate"),
        f.when(f.col("role") == "connect", f.min(_connected_after())).alias("connected_after"),
    )
    found = found.join(f.broadcast(_known_at_the_end(raw)), ["run", "group"], "left")
    return found.select(
        "run",
        "group",
        "role",
        "seconds",
        *(f.coalesce(f.col(name), f.lit(0)).alias(name) for name in ("sent", "received")),
        f.coalesce("final_losses", "gaps").alias("lost"),
        *("duplicates", "reordered", "errors"),
        *((f.col(name) / f.col("seconds")).alias(f"{name}_rate") for name in ("sent", "received")),
        "sustained_rate",
        (f.col("bytes") / f.col("seconds")).alias("bytes_per_second"),
        "connected",
        f.coalesce("connect_seconds", "connected_after").alias("connect_seconds"),
    )


def _known_at_the_end(raw: RawRuns) -> DataFrame:
    """What the load found missing when it had ended, and how long its clients took to connect.

    Of flows, and of runs that were cut short, there are only gaps.
    """
    said = raw.table("samples").where(f.col("source") == "load")
    return said.groupBy("run", f.col("name").alias("group")).agg(
        f.max(f.when(f.col("metric") == "lost", f.col("value"))).cast("long").alias("final_losses"),
        f.max(f.when(f.col("metric") == "connect_seconds", f.col("value"))).alias("connect_seconds"),
    )


def timeline_table(raw: RawRuns, seconds: DataFrame, latencies: DataFrame) -> DataFrame:
    """`timeline`: each second of a run, from the warm-up to the end of the measured time."""
    inside = seconds.where(f.col("second") < f.col("seconds"))
    counted = inside.groupBy("run", "second").agg(
        _sum_of("sent", SENDERS).alias("sent"), _sum_of("received", (*RECEIVERS, "request")).alias("received")
    )
    waits = latencies.where(f.col("group") == ALL).select("run", "second", "avg_ms", "p99_ms")
    return (
        counted.join(waits, ["run", "second"], "left")
        .join(_cores_by_second(raw), ["run", "second"], "left")
        .select("run", "second", "sent", "received", "avg_ms", "p99_ms", "server_cpu_cores")
    )


def _cores_by_second(raw: RawRuns) -> DataFrame:
    """What all processes of the server used in the second before each look."""
    looks = raw.table("samples").where((f.col("source") == "server") & (f.col("metric") == "cpu_seconds"))
    order = Window.partitionBy("run", "name").orderBy("at")
    used = (f.col("value") - f.lag("value").over(order)) / (f.col("at") - f.lag("at").over(order))
    each = looks.select("run", "name", f.floor("at").cast("int").alias("second"), used.alias("cores"))
    means = each.where(f.col("cores").isNotNull()).groupBy("run", "second", "name").agg(f.avg("cores").alias("cores"))
    return means.groupBy("run", "second").agg(f.sum("cores").alias("server_cpu_cores"))


def _sum_of(name: str, roles: tuple[str, ...]) -> Column:
    return f.sum(f.when(f.col("role").isin(*roles), f.col(name)).otherwise(0))


def _measured() -> Column:
    return (f.col("second") >= 0) & (f.col("second") < f.col("seconds"))


def _part(number: int) -> Column:
    """The rate in one part of the whole seconds; of all the time, where parts would not have whole seconds."""
    whole, second = f.floor("seconds"), f.col("second")
    split = whole >= _PARTS
    begin = f.when(split, f.floor(whole * number / _PARTS)).otherwise(0)
    end = f.when(split, f.floor(whole * (number + 1) / _PARTS)).otherwise(f.col("seconds"))
    messages = f.when(f.col("role") == "publish", f.col("sent")).otherwise(f.col("received"))
    return f.sum(f.when((second >= begin) & (second < end), messages).otherwise(0)) / f.max(end - begin)


def _connected_after() -> Column:
    """How long a burst of connections took until all were there, in whole seconds, where clients came and went."""
    taken = f.greatest(f.lit(1.0), f.col("second") + 1 - f.col("start"))
    return f.when(f.col("connected") >= f.col("most"), taken)
