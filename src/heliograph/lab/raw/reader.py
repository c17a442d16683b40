"""Reads runs back."""

import os
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from heliograph.lab.errors import InvalidResults
from heliograph.lab.probes.probe import Sample
from heliograph.lab.raw.schemas import SAMPLES, TABLES
from heliograph.lab.raw.writer import RUNS


def runs(directory: Path) -> list[str]:
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
