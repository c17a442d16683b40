"""Reads a folder of results: the manifests of its runs, and the tables that were scored from them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from heliograph.lab.errors import InvalidResults
from heliograph.lab.report.reference import ReferenceData
from heliograph.lab.report.table import TableRow

SCORES = {
    "percentiles": "percentiles of latency",
    "rates": "message rates",
    "costs": "CPU, memory and energy",
    "bottlenecks": "bottlenecks",
    "outliers": "outliers",
    "curves": "curves",
    "distributions": "distributions of latency",
    "timeline": "rates over time",
    "pairs": "comparisons of targets",
    "direct": "shares of direct connections",
}
"""The tables that are read, and what they hold."""

_GENERATOR = "the generator was the limit"  # how a verdict begins that is not about the system
_JSON = ("parameters", "plan", "setup", "machine", "versions")


@dataclass(frozen=True)
class RecordedRun:
    """What a manifest says of one run."""

    run: str
    scenario: str
    started: datetime
    experiment: str = ""
    document: str = ""
    variant: str = ""
    type: str = ""
    target: str = ""
    target_version: str = ""
    seconds: float = 0.0
    scale: float = 1.0
    round: int = 0
    purpose: str = "measure"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)
    setup: Mapping[str, Any] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    connections: int = 0
    rack_units: float | None = None
    passed: bool = True
    verdict: str = ""
    generator_bound: bool = False
    note: str = ""

    @property
    def groups(self) -> list[Mapping[str, Any]]:
        """The groups of clients of its load."""
        return list(self.plan.get("groups", ()))

    @property
    def cores(self) -> int:
        """How many cores the machine has; 1 if it was not recorded."""
        return int(self.machine.get("cores") or self.machine.get("cpus") or 1)

    @property
    def broken(self) -> str:
        """Which rules of its scenario the system broke; empty if the generator alone is to blame."""
        if self.passed:
            return ""
        return self.verdict.partition(_GENERATOR)[0].rstrip("; ") if self.verdict else "no reason given"

    @property
    def label(self) -> str:
        """The scenario, and its variant where it has one."""
        return f"{self.scenario} {self.variant}".strip()


class Results:
    """The runs of a folder, and their scores by table and run."""

    def __init__(self, directory: Path, runs: tuple[RecordedRun, ...], known: ReferenceData) -> None:
        self.directory = directory
        self.runs = runs
        self.known = known
        self._tables: dict[str, dict[str, list[TableRow]]] = {}

    @classmethod
    def read(cls, directory: Path, known: ReferenceData) -> "Results":
        """All runs of this folder, the oldest first; a folder without any is refused."""
        files = sorted((directory / "runs").glob("*/manifest.parquet"))
        if not files:
            raise InvalidResults(
                f"{directory}: expected runs/*/manifest.parquet, found none; `helio lab run` makes them"
            )
        runs = [_run(row) for file in files for row in _read(file).to_pylist()]
        return cls(directory, tuple(sorted(runs, key=lambda run: (run.started, run.run))), known)

    def load(self, runs: Iterable[str]) -> None:
        """Read the scores of these runs, which are all that a report shows: a folder may hold thousands of others."""
        wanted = pa.array(sorted(set(runs)), pa.string())
        for table in SCORES:
            by_run: dict[str, list[TableRow]] = {}
            for row in self._rows(table, wanted):
                by_run.setdefault(str(row.get("run", "")), []).append(row)
            self._tables[table] = by_run

    def _rows(self, table: str, wanted: pa.Array) -> list[TableRow]:
        files = sorted(str(file) for file in (self.directory / "scores" / table).glob("*.parquet"))
        if not files:
            return []
        try:
            data = ds.dataset(files, format="parquet")
            only = pc.field("run").isin(wanted) if "run" in data.schema.names and table != "curves" else None
            rows: list[TableRow] = data.to_table(filter=only).to_pylist()
        except (pa.ArrowException, OSError) as error:
            raise InvalidResults(f"{self.directory / 'scores' / table}: cannot read it as Parquet: {error}") from error
        return rows

    def of(self, table: str, run: str) -> list[TableRow]:
        """The rows of a table that belong to a run."""
        return self._tables.get(table, {}).get(run, [])

    def one(self, table: str, run: str) -> TableRow:
        """The row of a run in a table that has one per run; empty if there is none."""
        return next(iter(self.of(table, run)), {})

    def every(self, table: str) -> list[TableRow]:
        """All rows that were read of a table."""
        return [row for rows in self._tables.get(table, {}).values() for row in rows]

    def absent(self, table: str) -> str:
        """Why a part of a report that needs this table has nothing to show."""
        if self.every(table):
            return f"Nothing of this kind was measured in the {len(self.runs)} runs."
        return f"There are no {SCORES[table]}: the table scores/{table} is missing or has nothing of these runs."


def _read(file: Path) -> pa.Table:
    try:
        return pq.read_table(file)
    except (pa.ArrowException, OSError) as error:
        raise InvalidResults(f"{file}: cannot read it as Parquet: {error}") from error


def _run(row: Mapping[str, Any]) -> RecordedRun:
    known = {one.name for one in fields(RecordedRun)}
    values = {key: value for key, value in row.items() if key in known and value is not None}
    for key in _JSON:
        values[key] = _parsed(values.get(key))
    return RecordedRun(**values)


def _parsed(text: Any) -> Mapping[str, Any]:
    """What a column of JSON holds; a value that is no object is kept under its own name."""
    try:
        value = json.loads(text) if text else {}
    except ValueError:
        value = {"text": text}
    return value if isinstance(value, dict) else {"value": value}
