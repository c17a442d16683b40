"""Tables of what was sent and received: rates of each group, and the course of each run."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from heliograph.pipeline.measurements.latencies import ALL
from heliograph.pipeline.measurements.raw import COUNTS, RawRuns

SENDERS = ("publish", "both", "request", "flow")
RECEIVERS = ("consume", "both", "flow")
_PARTS = 3
"""A rate is sustained if it held in each part of the time."""


def counted_by_second(raw: RawRuns) -> DataFrame:
    """Counters of each group and second, all processes of the generator together."""
    rows = raw.timed("counters").groupBy("run", "second", "group", "role", "seconds")
    return rows.agg(*(F.sum(name).alias(name) for name in COUNTS))


def rate_table(raw: RawRuns, seconds: DataFrame) -> DataFrame:
    """`rates`: counts and rates of the measured time; what went wrong counts whenever it did."""
    start = F.coalesce(F.get_json_object("plan", "$.warm_up").cast("double"), F.lit(0.0))
    warm_up = raw.manifest.select("run", (-start).alias("start"))
    most = F.max("connected").over(Window.partitionBy("run", "group"))
    rows = seconds.withColumn("most", most).join(F.broadcast(warm_up), "run")
    found = rows.groupBy("run", "group", "role", "seconds").agg(
        *(F.sum(F.when(_measured(), F.col(name))).alias(name) for name in ("sent", "received")),
        F.sum(F.when(_measured(), F.col("bytes_sent") + F.col("bytes_received"))).alias("bytes"),
        # A gap that opened and was filled later is no loss; the late message was counted as reordered.
        F.greatest(F.lit(0), F.sum("lost") - F.sum("reordered")).alias("lost"),
        *(F.sum(name).alias(name) for name in ("duplicates", "reordered", "errors")),
        F.max(F.when(_measured(), F.col("connected"))).alias("connected"),
        F.least(*(_part(number) for number in range(_PARTS))).alias("sustained_rate"),
        F.when(F.col("role") == "connect", F.min(_connected_after())).alias("connect_seconds"),
    )
    return found.select(
        "run",
        "group",
        "role",
        "seconds",
        *(F.coalesce(F.col(name), F.lit(0)).alias(name) for name in ("sent", "received")),
        *("lost", "duplicates", "reordered", "errors"),
        *((F.col(name) / F.col("seconds")).alias(f"{name}_rate") for name in ("sent", "received")),
        "sustained_rate",
        (F.col("bytes") / F.col("seconds")).alias("bytes_per_second"),
        "connected",
        "connect_seconds",
    )


def timeline_table(raw: RawRuns, seconds: DataFrame, latencies: DataFrame) -> DataFrame:
    """`timeline`: each second of a run, from the warm-up to the end of the measured time."""
    inside = seconds.where(F.col("second") < F.col("seconds"))
    counted = inside.groupBy("run", "second").agg(
        _sum_of("sent", SENDERS).alias("sent"), _sum_of("received", (*RECEIVERS, "request")).alias("received")
    )
    waits = latencies.where(F.col("group") == ALL).select("run", "second", "avg_ms", "p99_ms")
    return (
        counted.join(waits, ["run", "second"], "left")
        .join(_cores_by_second(raw), ["run", "second"], "left")
        .select("run", "second", "sent", "received", "avg_ms", "p99_ms", "server_cpu_cores")
    )


def _cores_by_second(raw: RawRuns) -> DataFrame:
    """What all processes of the server used in the second before each look."""
    looks = raw.table("samples").where((F.col("source") == "server") & (F.col("metric") == "cpu_seconds"))
    order = Window.partitionBy("run", "name").orderBy("at")
    used = (F.col("value") - F.lag("value").over(order)) / (F.col("at") - F.lag("at").over(order))
    each = looks.select("run", "name", F.floor("at").cast("int").alias("second"), used.alias("cores"))
    means = each.where(F.col("cores").isNotNull()).groupBy("run", "second", "name").agg(F.avg("cores").alias("cores"))
    return means.groupBy("run", "second").agg(F.sum("cores").alias("server_cpu_cores"))


def _sum_of(name: str, roles: tuple[str, ...]) -> Column:
    return F.sum(F.when(F.col("role").isin(*roles), F.col(name)).otherwise(0))


def _measured() -> Column:
    return (F.col("second") >= 0) & (F.col("second") < F.col("seconds"))


def _part(number: int) -> Column:
    """The rate in one part of the whole seconds; of all the time, where parts would not have whole seconds."""
    whole, second = F.floor("seconds"), F.col("second")
    split = whole >= _PARTS
    begin = F.when(split, F.floor(whole * number / _PARTS)).otherwise(0)
    end = F.when(split, F.floor(whole * (number + 1) / _PARTS)).otherwise(F.col("seconds"))
    messages = F.when(F.col("role") == "publish", F.col("sent")).otherwise(F.col("received"))
    return F.sum(F.when((second >= begin) & (second < end), messages).otherwise(0)) / F.max(end - begin)


def _connected_after() -> Column:
    """How long a burst of connections took until all were there, in whole seconds: counters know no less."""
    taken = F.greatest(F.lit(1.0), F.col("second") + 1 - F.col("start"))
    return F.when(F.col("connected") >= F.col("most"), taken)
