"""Turns raw data of new runs into tables of scores."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from heliograph.pipeline.scoring import latencies, rates
from heliograph.pipeline.scoring.bottlenecks import bottleneck_table
from heliograph.pipeline.scoring.costs import cost_table, figure_table, traffic, with_costs
from heliograph.pipeline.scoring.curves import curve_table, direct_table
from heliograph.pipeline.scoring.ledger import SCORES, Batch, Ledger
from heliograph.pipeline.scoring.outliers import outlier_table
from heliograph.pipeline.scoring.ratios import pair_table
from heliograph.pipeline.scoring.raw import RawRuns
from heliograph.pipeline.scoring.resources import resource_use
from heliograph.pipeline.session import build_session

WHOLE: Mapping[str, Callable[[DataFrame], DataFrame]] = {
    "curves": curve_table,
    "pairs": pair_table,
    "direct": direct_table,
}
"""Tables that look at all runs together; they are made anew from the figures, whatever is new."""
_MOST_RUNS = 1000
"""Runs that are scored together: what a crash can cost, and what Spark has to bear at a time."""
_CONF = {
    # A run has six small files. Left alone, Spark would look for each in a task of its own, and open 32 of them in one.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    "spark.sql.files.openCostInBytes": "65536",
    # Left alone, Spark would write times as nobody else does any more.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}


_SMALL = 64 << 20
"""Bytes of raw data up to which Spark takes longer to compile and adapt its plans than to go through the rows."""
_FEW = 100
"""Runs up to which that is so."""
_INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}


@dataclass(frozen=True)
class Scored:
    """What was done: how many runs were new (or had changed), and where the tables are."""

    runs: int
    tables: Path


def score_runs(directory: Path, *, master: str | None = None, conf: Mapping[str, str] = {}) -> Scored:
    """Score the runs in `directory` that are new; Spark is not started if there are none.

    With a `master`, its machines need to see the folder under the same path.
    """
    ledger, scored = Ledger(directory, tuple(WHOLE)), 0
    with ledger.locked():
        batch = ledger.next_batch(_MOST_RUNS)
        if batch is not None:
            with session(master, conf) as spark:
                while batch is not None:
                    _score(spark, directory, ledger, batch)
                    scored += len(batch.runs)
                    batch = ledger.next_batch(_MOST_RUNS)
    return Scored(scored, directory / SCORES)


@contextmanager
def session(master: str | None, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session for jobs of seconds; that of this process if there is one, which then stays."""
    before = SparkSession.getActiveSession()
    spark = before or build_session("heliograph lab", master=master, conf=conf, quick=True)
    for key, value in _CONF.items():
        spark.conf.set(key, conf.get(key, value))
    try:
        yield spark
    finally:
        if before is None:
            spark.stop()


@contextmanager
def interpreted(spark: SparkSession, *, small: bool) -> Iterator[None]:
    """Where rows are few, plans are meanwhile carried out as they are."""
    before = {key: spark.conf.get(key) for key in _INTERPRETED} if small else {}
    for key in before:
        spark.conf.set(key, _INTERPRETED[key])
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, str(value))


def _score(spark: SparkSession, directory: Path, ledger: Ledger, batch: Batch) -> None:
    raw = RawRuns(spark, directory, sorted(batch.runs))
    with interpreted(spark, small=raw.size <= _SMALL and len(batch.runs) <= _FEW):
        _write_tables(spark, raw, ledger, batch)
    ledger.commit(batch)


def _write_tables(spark: SparkSession, raw: RawRuns, ledger: Ledger, batch: Batch) -> None:
    with _kept() as keep:
        raw.manifest = keep(raw.manifest)  # every other table is joined with it
        tables, figures = _tables(raw, keep)
        for name, rows in tables.items():
            _write(rows, ledger.stage(batch, name))
        _write(figures, ledger.stage(batch, "figures"))
    files = [*ledger.kept("figures", batch), ledger.stage(batch, "figures")]
    known = spark.read.schema(figures.schema).parquet(*(file.absolute().as_uri() for file in files))
    for name, make in WHOLE.items():
        _write(make(known), ledger.stage(batch, name))


def _tables(raw: RawRuns, keep: Callable[[DataFrame], DataFrame]) -> tuple[dict[str, DataFrame], DataFrame]:
    """The tables that each run has its own rows in, and the figures that runs are compared by."""
    seconds = keep(rates.counted_by_second(raw))
    histograms = keep(latencies.merged(raw))
    waits = keep(latencies.by_second(raw))
    rate_rows = keep(rates.rate_table(raw, seconds))
    percentiles = keep(latencies.percentile_table(raw, histograms))
    costs = keep(with_costs(raw, resource_use(raw), traffic(rate_rows)))
    tables = {
        "rates": rate_rows,
        "percentiles": percentiles,
        "distributions": latencies.distribution_table(histograms),
        "timeline": rates.timeline_table(raw, seconds, waits),
        "outliers": outlier_table(seconds, waits),
        "costs": cost_table(costs),
        "bottlenecks": bottleneck_table(raw, costs),
    }
    return tables, figure_table(costs, percentiles)


@contextmanager
def _kept() -> Iterator[Callable[[DataFrame], DataFrame]]:
    """Rows that several tables are made from are computed once."""
    kept: list[DataFrame] = []

    def keep(rows: DataFrame) -> DataFrame:
        kept.append(rows.persist(StorageLevel.MEMORY_AND_DISK))
        return kept[-1]

    try:
        yield keep
    finally:
        for rows in kept:
            rows.unpersist()


def _write(rows: DataFrame, folder: Path) -> None:
    rows.write.mode("overwrite").option("compression", "zstd").parquet(folder.absolute().as_uri())
