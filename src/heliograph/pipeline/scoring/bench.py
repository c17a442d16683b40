"""How fast the jobs are that score runs (`helio bench scores`).

Latencies of messages are made up by Spark itself: a lognormal bulk with a tail of 0.05 % up to half a second, in twenty
runs of ten seconds. They are written as Parquet, turned into histograms of each second, and those into percentiles,
with the expressions that runs are scored with. Exact percentiles of one run say how far off that is.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from heliograph.errors import InvalidInput
from heliograph.pipeline.scoring.latencies import PERCENTILES, bucket_of, percentiles
from heliograph.pipeline.session import build_session

SAMPLES = 100_000_000
RUNS = 20
SECONDS = 10
MOST_ERROR = 0.005
_KEYS = ("run", "group", "kind")


def bench_scores(count: int, parent: str | None) -> int:
    """Measure with so many samples; 1 if a percentile is off by more than half a per cent.

    Raw samples are kept in a folder below `parent` meanwhile.
    """
    if count < RUNS * SECONDS:
        raise InvalidInput(f"expected at least {RUNS * SECONDS} samples, found {count}")
    before = SparkSession.getActiveSession()
    spark = build_session("heliograph lab bench")
    folder = Path(tempfile.mkdtemp(prefix="helio-bench-", dir=parent))
    print(f"{count:,} samples, {RUNS} runs, {os.cpu_count()} cores, load before {os.getloadavg()[0]:.1f}", flush=True)
    try:
        worst = _stages(spark, folder, count)
    finally:
        shutil.rmtree(folder)
        if before is None:
            spark.stop()
    print(f"greatest error of a percentile: {100 * worst:.2f} % (goal: below {100 * MOST_ERROR:.1f} %)")
    return 0 if worst < MOST_ERROR else 1


def _stages(spark: SparkSession, folder: Path, count: int) -> float:
    raw, histograms, cards = (str(folder / name) for name in ("raw", "histograms", "cards"))
    _timed("make and write raw samples", count, lambda: _write(made_up(spark, count), raw))
    _timed("raw samples to histograms", count, lambda: _write(histograms_of(spark.read.parquet(raw)), histograms))
    cells = spark.read.parquet(histograms).count()
    _timed("histograms to score cards", cells, lambda: _write(score_cards(spark.read.parquet(histograms)), cards))
    direct = score_cards(histograms_of(spark.read.parquet(raw)))
    _timed("raw samples to score cards", count, lambda: direct.write.format("noop").mode("overwrite").save())
    return greatest_error(spark.read.parquet(raw), spark.read.parquet(cards))


def _timed(what: str, rows: int, job: Callable[[], None]) -> None:
    start = time.monotonic()
    job()
    took = time.monotonic() - start
    print(f"{what:<28} {rows:>13,} rows {took:>8.1f} s {rows / took:>14,.0f} rows/s", flush=True)


def _write(rows: DataFrame, folder: str) -> None:
    rows.write.option("compression", "zstd").parquet(folder)


def made_up(spark: SparkSession, count: int) -> DataFrame:
    """Raw samples: run, second, group, kind and `latency_ns`; the same ones each time."""
    bulk = f.exp(f.randn(7) * 0.5 + f.lit(13.8))
    value = f.when(f.rand(8) < 0.0005, f.rand(9) * 5e8).otherwise(bulk)
    each = count // (RUNS * SECONDS)
    names = f.array(*(f.lit(f"run-{number:02}") for number in range(RUNS)))
    return spark.range(0, count).select(
        f.element_at(names, (f.col("id") / (each * SECONDS)).cast("int") % RUNS + 1).alias("run"),
        ((f.col("id") / each).cast("int") % SECONDS).alias("second"),
        f.lit("consumers").alias("group"),
        f.lit("message").alias("kind"),
        f.greatest(f.lit(1), value.cast("long")).alias("latency_ns"),
    )


def histograms_of(samples: DataFrame) -> DataFrame:
    """Histograms of each second, as the lab writes them."""
    keys = (*_KEYS, "second", bucket_of(f.col("latency_ns")).alias("bucket"))
    return samples.groupBy(*keys).agg(f.count("*").alias("count"))


def score_cards(histograms: DataFrame) -> DataFrame:
    """Percentiles of each run."""
    merged = histograms.groupBy(*_KEYS, "bucket").agg(f.sum("count").alias("count"))
    return percentiles(merged, _KEYS)


def greatest_error(samples: DataFrame, cards: DataFrame) -> float:
    """Of all percentiles of one run, against exact ones: values in order, and the one at the rank."""
    one = samples.where(f.col("run") == "run-00").select("latency_ns")
    values = np.sort(one.toArrow()["latency_ns"].to_numpy())
    card = cards.where(f.col("run") == "run-00").first()
    assert card is not None
    exact = {name: int(values[-(-len(values) * part // 10_000) - 1]) for name, part in PERCENTILES.items()}
    return max(abs(int(card[name]) - value) / value for name, value in exact.items())
