"""Raw data as Spark sees it: the files of chosen runs, one DataFrame for each table."""

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

RUNS = "runs"
_COUNTED = ("sent", "received", "acknowledged", "bytes_sent", "bytes_received", "lost", "duplicates", "reordered")
COUNTS = (*_COUNTED, "errors", "connected")
SCHEMAS = {
    "manifest": (
        "run string, experiment string, scenario string, document string, variant string, type string, target string, "
        "target_version string, started timestamp, seconds double, scale double, round int, purpose string, "
        "parameters string, plan string, setup string, machine string, versions string, connections long, "
        "rack_units double, passed boolean, verdict string, generator_bound boolean, note string"
    ),
    "counters": "run string, second int, process int, `group` string, role string, "
    + ", ".join(f"{name} long" for name in COUNTS),
    "latencies": "run string, second int, `group` string, kind string, bucket long, count long",
    "latency_totals": (
        "run string, second int, `group` string, kind string, count long, min_ns long, max_ns long, sum_ns long, "
        "sum_squares double"
    ),
    "samples": "run string, at double, source string, name string, metric string, value double",
    "events": "run string, at double, source string, kind string, text string",
}
"""Columns by table; they are given, not looked up, because looking into files is a job of its own."""


class RawRuns:
    """The files of some runs of a folder."""

    def __init__(self, spark: SparkSession, directory: Path, runs: Sequence[str]) -> None:
        self._spark = spark
        self._folders = [directory / RUNS / run for run in runs]
        manifest = self.table("manifest")
        self.manifest = manifest.withColumn("seconds", f.when(f.col("seconds") > 0, f.col("seconds")))
        """A row for each run; `seconds` is null where nothing was measured, so that nothing is divided by it."""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.stat().st_size for folder in self._folders for file in folder.glob("*.parquet"))

    def table(self, name: str) -> DataFrame:
        """All rows of a table; none of runs that do not have it."""
        files = [file.absolute().as_uri() for folder in self._folders if (file := folder / f"{name}.parquet").exists()]
        if not files:
            return self._spark.createDataFrame([], SCHEMAS[name])
        return self._spark.read.schema(SCHEMAS[name]).parquet(*files)

    def timed(self, name: str) -> DataFrame:
        """All rows of a table, each with how many `seconds` its run was measured."""
        return self.table(name).join(f.broadcast(self.manifest.select("run", "seconds")), "run")
