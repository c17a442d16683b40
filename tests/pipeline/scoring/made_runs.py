"""Runs that are made by hand: what was measured is known, so what the tables must say is known, too."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from heliograph.lab.load.histogram import Recorder
from heliograph.lab.raw.run_tables import TABLES

BEGAN = datetime(2026, 3, 14, 9, tzinfo=UTC)
MACHINE = {"cpus": 4, "system_cores": [0, 1], "memory_mb": 1000}
Rows = list[dict[str, Any]]


@dataclass
class Made:
    """A run in the making; the tables are lists of rows, which tests add to."""

    run: str
    manifest: dict[str, Any] = field(default_factory=dict)
    counters: Rows = field(default_factory=list)
    latencies: Rows = field(default_factory=list)
    latency_totals: Rows = field(default_factory=list)
    samples: Rows = field(default_factory=list)
    events: Rows = field(default_factory=list)

    def count(self, second: int, group: str, role: str, *, process: int = 0, **counts: int) -> None:
        """What a process counted in a second."""
        self.counters.append({"second": second, "process": process, "group": group, "role": role, **counts})

    def measure(self, second: int, group: str, kind: str, values: NDArray[np.int64]) -> None:
        """Latencies in ns, as a load reports them."""
        recorder = Recorder()
        recorder.record_all(values)
        found = recorder.take()
        assert found is not None
        key = {"second": second, "group": group, "kind": kind}
        self.latencies += [{**key, "bucket": bucket, "count": count} for bucket, count in found.counts.items()]
        totals = {name: getattr(found, name) for name in ("count", "min_ns", "max_ns", "sum_ns", "sum_squares")}
        self.latency_totals.append(key | totals)

    def sample(self, source: str, name: str, metric: str, values: Iterable[float], start: float = 0.0) -> None:
        """What a probe saw, once a second."""
        for at, value in enumerate(values):
            self.samples.append({"at": start + at, "source": source, "name": name, "metric": metric, "value": value})

    def write(self, directory: Path) -> None:
        """Write the files of the run."""
        folder = directory / "runs" / self.run
        folder.mkdir(parents=True, exist_ok=True)
        tables = {name: getattr(self, name) for name in TABLES if name != "manifest"}
        for name, rows in {**tables, "manifest": [_manifest(self.manifest)]}.items():
            filled = [dict.fromkeys(_numbers(name), 0) | row | {"run": self.run} for row in rows]
            pq.write_table(pa.Table.from_pylist(filled, TABLES[name]), folder / f"{name}.parquet")


def _numbers(table: str) -> list[str]:
    return [one.name for one in TABLES[table] if table == "counters" and one.type == pa.int64()]


def _manifest(given: dict[str, Any]) -> dict[str, Any]:
    usual = {
        "experiment": "e1",
        "scenario": "FANIN",
        "document": "messagesight",
        "variant": "",
        "type": "Throughput",
        "target": "heliograph",
        "target_version": "1",
        "started": BEGAN,
        "seconds": 6.0,
        "scale": 1.0,
        "round": 0,
        "purpose": "measure",
        "parameters": {"producers": 2, "rate": 100, "size": 32},
        "plan": {"warm_up": 1},
        "setup": {},
        "machine": MACHINE,
        "versions": {},
        "connections": 0,
        "passed": True,
        "verdict": "",
        "generator_bound": False,
        "note": "",
    }
    made = {**usual, **given}
    return {name: json.dumps(value) if isinstance(value, dict) else value for name, value in made.items()}


def steady(run: str, rate: int = 100, latency_ms: float = 1.0, cores: float = 0.5, **manifest: Any) -> Made:
    """Six seconds in which so many messages a second went in and came out, each after the same time."""
    made = Made(run, manifest)
    for second in range(6):
        made.count(second, "producers", "publish", sent=rate, bytes_sent=rate * 32, connected=2)
        made.count(second, "consumer", "consume", received=rate, bytes_received=rate * 32, connected=1)
        made.measure(second, "consumer", "message", np.full(rate, round(latency_ms * 1e6), np.int64))
    made.sample("server", "7", "cpu_seconds", [10 + cores * at for at in range(7)])
    made.manifest.setdefault("started", BEGAN + timedelta(minutes=int(manifest.get("round", 0))))
    return made


def rows(directory: Path, table: str, **only: Any) -> Rows:
    """The rows of a table of scores with these values."""
    found = pq.read_table(directory / "scores" / table).to_pylist()
    return [row for row in found if all(row[name] == value for name, value in only.items())]


def row(directory: Path, table: str, **only: Any) -> dict[str, Any]:
    """The only such row."""
    (found,) = rows(directory, table, **only)
    return found
