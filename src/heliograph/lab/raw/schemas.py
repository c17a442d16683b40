"""The tables of a run, column by column (`docs/guides/lab.md` says what they mean)."""

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
