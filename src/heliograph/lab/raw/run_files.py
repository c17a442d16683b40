"""Writes a run as Parquet files, and reads it back. A run appears under its name when it is complete, never before."""

import os
import shutil
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from heliograph.lab.errors import InvalidResults
from heliograph.lab.load.histogram import Histogram
from heliograph.lab.load.meter import Interval
from heliograph.lab.probes.probe import Sample
from heliograph.lab.raw.run_tables import COUNTED, SAMPLES, TABLES, Manifest

RUNS = "runs"
_ROWS = 50_000
"""Rows that are kept in memory before they are written."""
_SETTLED = 2
"""Seconds after which another process is not expected to report any more: its figures would be rows of their own."""


class RunWriter:
    """One run in the making; leaving its context without `finish` throws it away."""

    def __init__(self, directory: Path, run: str) -> None:
        self.run = run
        self._final = directory / RUNS / run
        self._partial = directory / RUNS / f".{run}.partial"
        self._partial.mkdir(parents=True)
        self._tables = {name: _Table(self._partial / f"{name}.parquet", schema) for name, schema in TABLES.items()}
        self._seconds: dict[int, dict[tuple[str, str], Histogram]] = {}

    def __enter__(self) -> Self:
        """Nothing happens until there is something to write."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Throw away what was not finished."""
        for table in self._tables.values():
            table.close()
        shutil.rmtree(self._partial, ignore_errors=True)

    def interval(self, interval: Interval, role: str) -> None:
        """One second of one group in one process of the generator."""
        row = {
            name: getattr(interval, name) for name in ("second", "process", "group", *COUNTED, "errors", "connected")
        }
        self._tables["counters"].add({"run": self.run, "role": role, **row})
        merged = self._seconds.setdefault(interval.second, {})
        for kind, histogram in interval.latencies.items():
            key = (interval.group, kind)
            merged[key] = merged[key] + histogram if key in merged else histogram
        for second in [known for known in self._seconds if known < interval.second - _SETTLED]:
            self._write_second(second)

    def _write_second(self, second: int) -> None:
        for (group, kind), histogram in self._seconds.pop(second).items():
            key = {"run": self.run, "second": second, "group": group, "kind": kind}
            for bucket, count in histogram.counts.items():
                self._tables["latencies"].add({**key, "bucket": bucket, "count": count})
            totals = {name: getattr(histogram, name) for name in ("count", "min_ns", "max_ns", "sum_ns", "sum_squares")}
            self._tables["latency_totals"].add(key | totals)

    def samples(self, samples: Iterable[Sample]) -> None:
        """What probes have seen."""
        for sample in samples:
            self._tables["samples"].add({"run": self.run, **sample._asdict()})

    def event(self, at: float, source: str, kind: str, text: str) -> None:
        """Something that happened, in seconds since the measured time began."""
        self._tables["events"].add({"run": self.run, "at": at, "source": source, "kind": kind, "text": text})

    def finish(self, manifest: Manifest) -> Path:
        """Write the rest, and let the run appear; the folder that it is in."""
        for second in list(self._seconds):
            self._write_second(second)
        self._tables["manifest"].add(asdict(manifest))
        for table in self._tables.values():
            table.close()
        os.rename(self._partial, self._final)
        return self._final


class _Table:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []

    def add(self, row: dict[str, Any]) -> None:
        self._rows.append(row)
        if len(self._rows) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, self._schema))
            self._rows = []

    def close(self) -> None:
        if self._writer.is_open:
            self._flush()
            self._writer.close()


def run_names(directory: Path) -> list[str]:
    """The runs in this directory, oldest first; those in the making are not there yet."""
    folder = directory / RUNS
    if not folder.is_dir():
        raise InvalidResults(f"{directory}: expected a folder with results of `helio lab run`, found none")
    return sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def read_table(directory: Path, run: str, table: str) -> pa.Table:
    """One table of one run."""
    return pq.read_table(directory / RUNS / run / f"{table}.parquet", schema=TABLES[table])


def add_samples(directory: Path, run: str, samples: Iterable[Sample], *, instead_of: str) -> None:
    """Add to a run what another instrument has measured, in place of samples of that source; all of it or nothing."""
    kept = [row for row in read_table(directory, run, "samples").to_pylist() if row["source"] != instead_of]
    rows = kept + [{"run": run, **sample._asdict()} for sample in samples]
    path = directory / RUNS / run / "samples.parquet"
    partial = path.with_suffix(".partial")
    pq.write_table(pa.Table.from_pylist(rows, SAMPLES), partial, compression="zstd")
    os.replace(partial, path)
