"""A small folder of results, as runs of two targets would leave it: real scenarios, made-up figures, always alike."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from heliograph.lab.load.plan import Group
from heliograph.lab.scenarios import load_scenario

BEGAN = datetime(2026, 3, 14, 9, 0, tzinfo=UTC)
MACHINE = {
    "cpu": "Intel Xeon 2.2 GHz",
    "cpus": 2,
    "memory_mb": 24 << 10,
    "kernel": "6.1.0",
    "load_before": 1.5,
}
VERSIONS = {"python": "3.11.2", "heliograph": "0.1.0", "commit": "abc1234"}
SETUPS = {
    "heliograph": {"heliograph.toml": '[storage]\ndirectory = "data"\n'},
    "mosquitto": {"mosquitto.conf": "persistence true\nmax_queued_messages 0\n"},
}
SCALE = 0.001
SECONDS = 20
_AT = {
    "min": 0.4,
    "avg": 1,
    "p50": 0.95,
    "p75": 1.2,
    "p90": 1.5,
    "p95": 1.9,
    "p99": 3,
    "p999": 5,
    "p9999": 9,
    "max": 14,
}
"""Percentiles as parts of the average."""
_KINDS = {"both": "message", "consume": "message", "request": "round_trip", "connect": "connect"}


@dataclass(frozen=True)
class Made:
    """One run, and what its scores are made from."""

    scenario: str
    target: str
    rate: float  # messages or requests per second
    latency: float  # milliseconds on average
    variant: str = ""
    fan_out: int = 1
    cores: float = 0.9
    round: int = 0
    experiment: str = "e1"
    purpose: str = "measure"
    step: int = 0
    other: Mapping[str, Any] = field(default_factory=dict)
    """What the manifest says instead of the usual."""

    @property
    def id(self) -> str:
        words = (self.scenario, self.target, self.variant, self.round, self.purpose, self.step)
        return "20260314T0900-" + "-".join(map(str, words)).replace("/", "_")

    @property
    def groups(self) -> tuple[Group, ...]:
        scenario = load_scenario(self.scenario)
        return () if scenario.is_flow else scenario.plan(SCALE, self.variant).groups


def runs() -> list[Made]:
    """Scenarios of every type, three rounds of one of them, a search, and tests with a delay."""
    made = []
    for target, slower in (("heliograph", 1.0), ("mosquitto", 2.6)):
        for number, noise in enumerate((1.0, 0.93, 1.05)):
            rate = 16_200 * noise / slower
            made.append(Made("FANOUT", target, rate, 2.4 * slower, "1:100", 100, round=number))
        made += [
            Made("FANIN", target, 400, 0.9 * slower, "400K producers", other={"generator_bound": slower == 1}),
            Made("LATENCY", target, 100, 0.084 * slower, "150K producers"),
            Made("CONNBURST", target, 0, 0.27 * slower),
            Made("C1", target, 4800 / slower, 0.5, "2KB", experiment="e2", purpose="step", step=1),
            Made("C1", target, 6000 / slower, 9, "2KB", experiment="e2", purpose="bisect", other={"passed": False}),
            Made("C1", target, 5200 / slower, 1.1 * slower, "2KB", experiment="e2", purpose="confirm"),
            Made("C1", target, 3900 / slower, 0.2 * slower, "2KB single thread", experiment="e3"),
        ]
    missed = {"passed": False, "verdict": "average latency 12 ms, above 10 ms"}
    made += [
        Made("PERSISTENT", "heliograph", 460, 12.0, other=missed),
        Made("HA2", "heliograph", 1500, 2.0, "2KB"),
        Made("HA.DISTANCE", "heliograph", 300, 5.0, "1ms 2KB"),
        Made("COMPUTE.SIMPLE", "heliograph", 5100.5, 1.5, "1KB", cores=0.8),
        Made("COMPUTE.SIMPLE", "heliograph", 2100, 3.5, "16KB", cores=0.8, experiment="e4"),
    ]
    return made


def write(directory: Path, made: list[Made] | None = None, without: tuple[str, ...] = ()) -> Path:
    """Write manifests and scores of these runs, but not the tables `without`; the folder."""
    made = runs() if made is None else made
    for number, one in enumerate(made):
        folder = directory / "runs" / one.id
        folder.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist([_manifest(one, number)]), folder / "manifest.parquet")
    for name, rows in _tables(made).items():
        folder = directory / "scores" / name
        folder.mkdir(parents=True)
        if name not in without:
            pq.write_table(pa.Table.from_pylist(rows), folder / "part-0.parquet")
    return directory


def _manifest(made: Made, number: int) -> dict[str, Any]:
    scenario = load_scenario(made.scenario)
    if scenario.is_flow:
        plan = json.dumps(asdict(scenario.flow(made.variant)))
        setup: dict[str, Any] = {"flow": {"flow.yaml": "name: simple\n", "simple.esql": "..."}, "messages": 9}
    else:
        plan = scenario.plan(SCALE, made.variant, {"seconds": SECONDS}).to_json()
        setup = {"wanted": {}, "configuration": SETUPS[made.target]}
    return {
        "run": made.id,
        "experiment": made.experiment,
        "scenario": made.scenario,
        "document": scenario.document,
        "variant": made.variant,
        "type": scenario.type,
        "target": made.target,
        "target_version": {"heliograph": "0.1.0", "mosquitto": "2.0.11"}[made.target],
        "started": BEGAN + timedelta(minutes=number),
        "seconds": float(SECONDS),
        "scale": SCALE,
        "round": made.round,
        "purpose": made.purpose,
        "parameters": json.dumps(scenario.values(SCALE, made.variant)),
        "plan": plan,
        "setup": json.dumps(setup),
        "machine": json.dumps(MACHINE),
        "versions": json.dumps(VERSIONS),
        "connections": sum(group.clients for group in made.groups),
        "rack_units": None,
        "passed": True,
        "verdict": "",
        "generator_bound": False,
        "note": "",
        **made.other,
    }


def _tables(made: list[Made]) -> dict[str, list[dict[str, Any]]]:
    odd = {"second": 7, "group": "consumers", "metric": "received_rate", "value": 3.1e5, "usual": 1.6e6}
    return {
        "percentiles": [row for one in made for row in _percentiles(one)],
        "rates": [row for one in made for row in _rates(one)],
        "costs": [_costs(one) for one in made],
        "bottlenecks": [_bottleneck(one) for one in made],
        "outliers": [{"run": one.id, **odd} for one in made if one.scenario == "FANOUT"],
        "curves": list(_curves()),
        "distributions": [row for one in made for row in _distributions(one)],
        "timeline": [row for one in made for row in _timeline(one)],
        "pairs": _pairs(),
        "direct": [
            {"run": one.id, "direct": "HA2", "rate": one.rate, "direct_rate": 5 * one.rate, "percent": 20.0}
            for one in made
            if one.scenario == "HA.DISTANCE"
        ],
    }


def _percentiles(made: Made) -> Iterator[dict[str, Any]]:
    for group in made.groups:
        if group.role in _KINDS:
            # The group that a scenario is about is not the one with most messages.
            longer = 1 if group.role != "consume" or made.scenario != "LATENCY" else 4
            times = {f"{name}_ms": made.latency * factor * longer for name, factor in _AT.items()}
            count = 1000 * longer
            kind = {"run": made.id, "group": group.name, "kind": _KINDS[group.role], "count": count}
            yield {**kind, **times, "stdev_ms": made.latency * 0.4}


def _rates(made: Made) -> Iterator[dict[str, Any]]:
    groups = [(group.name, group.role, group.clients) for group in made.groups] or [("flow", "flow", 1)]
    senders = sum(role in {"publish", "both", "request", "flow"} for _, role, _ in groups) or 1
    consumers = sum(role == "consume" for _, role, _ in groups) or 1
    for name, role, clients in groups:
        sent = made.rate / senders if role in {"publish", "both", "request", "flow"} else 0.0
        received = made.rate * made.fan_out / consumers if role == "consume" else sent if role != "publish" else 0.0
        yield {
            "run": made.id, "group": name, "role": role, "seconds": float(SECONDS), "sent": int(sent * SECONDS),
            "received": int(received * SECONDS), "lost": 0, "duplicates": 0, "reordered": 0, "errors": 0,
            "sent_rate": sent, "received_rate": received, "sustained_rate": received * 0.97,
            "bytes_per_second": received * 32, "connected": clients,
            "connect_seconds": made.latency * 7 if role == "connect" else None,
        }  # fmt: skip


def _costs(made: Made) -> dict[str, Any]:
    out = made.rate * made.fan_out
    return {
        "run": made.id, "server_cpu_ms_per_message": 1000 * made.cores / out if out else None,
        "server_cpu_cores": made.cores, "generator_cpu_cores": 0.6, "busiest_core_percent": 93.0, "rss_bytes": 64 << 20,
        "connections_per_gb": 180_000.0, "watts": None, "messages_per_watt": None, "messages_per_unit": None,
        "high_water": 277, "discarded": 0, "context_switches_per_message": 0.012, "disk_bytes_per_message": 0.0,
    }  # fmt: skip


def _bottleneck(made: Made) -> dict[str, Any]:
    if made.other.get("generator_bound"):
        return {"run": made.id, "bottleneck": "generator", "evidence": "a process of it used 97 % of its core"}
    return {"run": made.id, "bottleneck": "broker cpu", "evidence": "the broker used 93 % of its core, the disk 2 %"}


def _curves() -> Iterator[dict[str, Any]]:
    for target, slower in (("heliograph", 1.0), ("mosquitto", 2.6)):
        for ratio in (1, 10, 100, 1000):
            sent = 800_000 / slower / (ratio**0.8)
            for y_name, y in (("sent_rate", sent), ("received_rate", sent * ratio)):
                yield _point("FANOUT", target, "1:100", "fan_out", ratio, y_name, y)
        for clients in (1, 5, 10, 20, 40, 60, 80):
            rate = 5200 / slower * (1 - math.exp(-clients / 15))
            for y_name, y in (("round_trips", rate), ("sent_rate", rate), ("avg_ms", clients / 5), ("p99_ms", clients)):
                yield _point("C1", target, "2KB", "clients", clients, y_name, y)


def _point(scenario: str, target: str, variant: str, x_name: str, x: float, y_name: str, y: float) -> dict[str, Any]:
    return {
        "scenario": scenario, "target": target, "variant": variant, "x_name": x_name, "x": float(x), "y_name": y_name,
        "y": y, "run": f"{scenario}-{x}",
    }  # fmt: skip


def _distributions(made: Made) -> Iterator[dict[str, Any]]:
    """A bell over the logarithm of time, with a second, smaller one in the tail."""
    for group in made.groups:
        for step in range(-20, 60) if group.role in _KINDS else ():
            bucket = made.latency * 2 ** (step / 10)
            count = int(10_000 * math.exp(-((step / 6) ** 2)) + 300 * math.exp(-(((step - 38) / 4) ** 2)))
            kind = _KINDS[group.role]
            yield {"run": made.id, "group": group.name, "kind": kind, "bucket_ms": bucket, "count": count}


def _timeline(made: Made) -> Iterator[dict[str, Any]]:
    for second in range(-2, SECONDS):
        wave = 1 + 0.05 * math.sin(second * 1.3 + made.latency) - (0.6 if second == 7 else 0)
        yield {
            "run": made.id, "second": second, "sent": int(made.rate * wave),
            "received": int(made.rate * made.fan_out * wave), "avg_ms": made.latency,
            "p99_ms": made.latency * 3 / wave, "server_cpu_cores": made.cores * wave,
        }  # fmt: skip


def _pairs() -> list[dict[str, Any]]:
    common = {"experiment": "e1", "scenario": "FANOUT", "variant": "1:100", "a": "heliograph", "b": "mosquitto"}
    return [
        {
            **common, "metric": "received_rate", "a_median": 1.62e6, "b_median": 6.23e5, "ratio": 2.6, "low": 2.4,
            "high": 2.8, "verdict": "A better",
        },
        {
            **common, "metric": "p99_ms", "a_median": 7.2, "b_median": 7.4, "ratio": 0.97, "low": 0.9, "high": 1.06,
            "verdict": "no difference shown",
        },
    ]  # fmt: skip
