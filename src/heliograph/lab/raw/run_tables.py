"""The tables of a run, column by column (docs/reference/lab-data.md), and its manifest as an object."""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

_TEXT, _LONG, _INT, _DOUBLE, _YES = pa.string(), pa.int64(), pa.int32(), pa.float64(), pa.bool_()
MANIFEST = pa.schema(
    {
        "run": _TEXT,
        "experiment": _TEXT,
        "scenario": _TEXT,
        "document": _TEXT,
        "variant": _TEXT,
        "type": _TEXT,
        "target": _TEXT,
        "target_version": _TEXT,
        "started": pa.timestamp("us", tz="UTC"),
        "seconds": _DOUBLE,
        "scale": _DOUBLE,
        "round": _INT,
        "purpose": _TEXT,
        "parameters": _TEXT,
        "plan": _TEXT,
        "setup": _TEXT,
        "machine": _TEXT,
        "versions": _TEXT,
        "connections": _LONG,
        "rack_units": _DOUBLE,
        "passed": _YES,
        "verdict": _TEXT,
        "generator_bound": _YES,
        "note": _TEXT,
    }
)
COUNTED = ("sent", "received", "acknowledged", "bytes_sent", "bytes_received", "lost", "duplicates", "reordered")
COUNTERS = pa.schema(
    {"run": _TEXT, "second": _INT, "process": _INT, "group": _TEXT, "role": _TEXT}
    | dict.fromkeys((*COUNTED, "errors", "connected"), _LONG)
)
LATENCIES = pa.schema({"run": _TEXT, "second": _INT, "group": _TEXT, "kind": _TEXT, "bucket": _LONG, "count": _LONG})
LATENCY_TOTALS = pa.schema(
    {
        "run": _TEXT,
        "second": _INT,
        "group": _TEXT,
        "kind": _TEXT,
        "count": _LONG,
        "min_ns": _LONG,
        "max_ns": _LONG,
        "sum_ns": _LONG,
        "sum_squares": _DOUBLE,
    }
)
SAMPLES = pa.schema({"run": _TEXT, "at": _DOUBLE, "source": _TEXT, "name": _TEXT, "metric": _TEXT, "value": _DOUBLE})
EVENTS = pa.schema({"run": _TEXT, "at": _DOUBLE, "source": _TEXT, "kind": _TEXT, "text": _TEXT})
TABLES = {
    "manifest": MANIFEST,
    "counters": COUNTERS,
    "latencies": LATENCIES,
    "latency_totals": LATENCY_TOTALS,
    "samples": SAMPLES,
    "events": EVENTS,
}


@dataclass(frozen=True)
class Manifest:
    """One row; texts that hold structures are JSON."""

    run: str
    experiment: str
    scenario: str
    document: str
    variant: str
    type: str
    target: str
    target_version: str
    started: datetime
    seconds: float
    scale: float
    round: int
    purpose: str  # measure, step, bisect or confirm
    parameters: str
    plan: str
    setup: str
    machine: str
    versions: str
    connections: int
    rack_units: float | None
    passed: bool
    verdict: str
    generator_bound: bool
    note: str = ""


def new_run_id(*words: str, now: datetime | None = None) -> str:
    """`20261116T132049-FANOUT-mosquitto-1f3a`: sorts by time, says what it is, and is the only one of its kind."""
    moment = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%S")
    return "-".join([moment, *words, secrets.token_hex(2)])
