"""A small folder of results, as a few runs of two targets would leave it: the same every time."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from heliograph.lab.report.known import About, Known, Published

BEGAN = datetime(2026, 3, 14, 9, 0, tzinfo=UTC)
MACHINE = {
    "cpu": "Intel Xeon 2.2 GHz",
    "cores": 2,
    "memory_bytes": 24 << 30,
    "kernel": "Linux 6.1",
    "load_before": [1.5, 1.0, 0.8],
}
VERSIONS = {"python": "3.11.2", "heliograph": "0.1.0", "commit": "abc1234"}
SETUPS = {
    "heliograph": {"storage": "on disk", "sync": "group commit"},
    "mosquitto": {"persistence": True, "max_queued_messages": 0},
}
SECONDS = 20


@dataclass(frozen=True)
class Made:
    """One run, and what its scores are made from."""

    scenario: str
    type: str
    target: str
    rate: float  # messages sent per second
    latency: float  # milliseconds on average
    variant: str = ""
    fan_out: int = 1
    clients: int = 10
    roles: tuple[str, str] = ("publish", "consume")
    size: int = 32
    persistent: bool = False
    cores: float = 0.9
    round: int = 0
    experiment: str = "e1"
    purpose: str = "measure"
    connections: int = 20
    other: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        words = (self.scenario, self.target, self.variant, self.round, self.purpose, self.clients)
        return "20260314T0900-" + "-".join(map(str, words))


def runs() -> list[Made]:
    """Scenarios of every type on two targets, three rounds of one of them, and one search."""
    made = []
    for target, slower in (("heliograph", 1.0), ("mosquitto", 2.6)):
        for number, noise in enumerate((1.0, 0.93, 1.05)):
            made.append(
                Made("FANOUT", "Throughput", target, 16_200 * noise / slower, 2.4 * slower, "1:100", 100, round=number)
            )
        made += [
            Made("FANIN", "Throughput", target, 400 / slower, 0.9, clients=400, other={"generator_bound": slower == 1}),
            Made("LATENCY", "Latency", target, 10_000, 0.084 * slower, roles=("both", "consume")),
            Made(
                "CONNBURST", "Connection rate", target, 0, 0.27 * slower, roles=("connect", "connect"), connections=1000
            ),
            _search("C1", target, 4800 / slower, "step", 30, 0.5),
            _search("C1", target, 3900 / slower, "step", 1, 0.2),
            _search("C1", target, 5200 / slower, "confirm", 60, 1.1),
        ]
    made += [
        Made(
            "PERSISTENT",
            "Throughput",
            "heliograph",
            460,
            12.0,
            persistent=True,
            other={"passed": False, "verdict": "average latency 12 ms, allowed 10"},
        ),
        Made("10.3.1", "Message flow", "heliograph", 5100.5, 1.5, "1 KB", size=1024, cores=0.8),
        Made("10.3.1", "Message flow", "heliograph", 2100, 3.5, "16 KB", size=16384, cores=0.8),
    ]
    return made


def _search(scenario: str, target: str, rate: float, purpose: str, clients: int, latency: float) -> Made:
    return Made(
        scenario, "Request/responder", target, rate, latency, "2 KB",
        clients=clients, roles=("request", "respond"), size=2048, purpose=purpose, experiment="e2",
    )  # fmt: skip


def known() -> Known:
    """What a catalogue would know of these scenarios."""
    about = {
        "FANOUT": About("Ten producers, many consumers of each topic; highest rate out", "received_rate", "msg/s"),
        "FANIN": About("Producers that send one message a second each, one consumer", "clients", "producers"),
        "LATENCY": About("Time from application to application while the server is busy", "latency", "ms"),
        "CONNBURST": About("Time until all clients of a burst are connected", "connect_seconds", "s"),
        "10.3.1": About("Compute node that changes one field", "received_rate", "msg/s"),
        "C1": About("Ten applications on one queue manager, non-persistent", "round_trips", "round trips/s"),
    }
    figures = {
        ("FANOUT", "1:100"): Published("MessageSight 1.0", "FANOUT", 16_200_000, "msg/s"),
        ("FANIN", ""): Published("MessageSight 1.0", "FANIN", 400_000, "producers"),
        ("LATENCY", ""): Published(
            "MessageSight 1.0", avg_ms=0.084, p50_ms=0.083, p99_ms=0.144, max_ms=0.427, stdev_ms=0.025
        ),
        ("CONNBURST", ""): Published("MessageSight 1.0", "CONNBURST", 65, "s"),
        ("C1", "2 KB"): Published(
            "MQ Appliance M2003A", "C1", 423_218, "round trips/s", cpu_percent=99.26, clients=280, latency_ms=0.4
        ),
        ("10.3.1", "1 KB"): Published(
            "Message Broker 5", "Simple compute", 1095.67, "msg/s", cpu_percent=41, cpu_ms=1.5
        ),
    }
    return Known(
        lambda scenario: about.get(scenario, About()),
        lambda scenario, variant: [figures[scenario, variant]] if (scenario, variant) in figures else [],
    )


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
    first, second = made.roles
    groups = [
        {
            "name": first, "role": first, "clients": made.clients, "protocol": "mqtt311", "transport": "tcp",
            "qos": int(made.persistent), "rate": made.rate, "persistent": made.persistent,
            "payload": {"sizes": [made.size]},
        },
        {
            "name": second + "rs", "role": second, "clients": 10 * made.fan_out, "protocol": "mqtt311",
            "transport": "tcp", "qos": 0,
        },
    ]  # fmt: skip
    return {
        "run": made.id,
        "experiment": made.experiment,
        "scenario": made.scenario,
        "document": "messagesight",
        "variant": made.variant,
        "type": made.type,
        "target": made.target,
        "target_version": "1.0",
        "started": BEGAN + timedelta(minutes=number),
        "seconds": float(SECONDS),
        "scale": 0.001,
        "round": made.round,
        "purpose": made.purpose,
        "parameters": json.dumps({"rate": made.rate, "size": made.size}),
        "plan": json.dumps({"groups": groups, "seconds": SECONDS, "warm_up": 2, "processes": 1}),
        "setup": json.dumps(SETUPS[made.target]),
        "machine": json.dumps(MACHINE),
        "versions": json.dumps(VERSIONS),
        "connections": made.connections,
        "rack_units": None,
        "passed": True,
        "verdict": "",
        "generator_bound": False,
        "note": "",
        **made.other,
    }


def _tables(made: list[Made]) -> dict[str, list[dict[str, Any]]]:
    return {
        "percentiles": [_percentiles(one) for one in made],
        "rates": [row for one in made for row in _rates(one)],
        "costs": [_costs(one) for one in made],
        "bottlenecks": [_bottleneck(one) for one in made],
        "outliers": [
            {
                "run": made[0].id, "second": 7, "group": "consumers", "metric": "received_rate", "value": 3.1e5,
                "usual": 1.6e6,
            }
        ],
        "curves": list(_curves()),
        "distributions": [row for one in made for row in _distribution(one)],
        "timeline": [row for one in made for row in _timeline(one)],
        "pairs": _pairs(),
    }  # fmt: skip


def _latency_group(made: Made) -> tuple[str, str]:
    first, second = made.roles
    if first in {"both", "request", "connect"}:
        return first, {"both": "message", "request": "round_trip", "connect": "connect"}[first]
    return second + "rs", "message"


def _percentiles(made: Made) -> dict[str, Any]:
    group, kind = _latency_group(made)
    at = {
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
    times = {f"{name}_ms": made.latency * factor for name, factor in at.items()}
    count = int(made.rate * made.fan_out * SECONDS) or made.connections
    return {"run": made.id, "group": group, "kind": kind, "count": count, **times, "stdev_ms": made.latency * 0.4}


def _rates(made: Made) -> Iterator[dict[str, Any]]:
    first, second = made.roles
    for role, name in ((first, first), (second, second + "rs")):
        sends, gets = role in {"publish", "both", "request"}, role in {"consume", "both", "request"}
        sent, received = made.rate * sends, made.rate * gets * (made.fan_out if role == "consume" else 1)
        yield {
            "run": made.id, "group": name, "role": role, "seconds": 2.0 if role == "connect" else float(SECONDS),
            "sent": int(sent * SECONDS), "received": int(received * SECONDS), "lost": 0, "duplicates": 0,
            "reordered": 0, "errors": 0, "sent_rate": sent, "received_rate": received, "sustained_rate": received * 0.97,
            "bytes_per_second": received * made.size, "connected": made.clients,
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
        return {
            "run": made.id,
            "bottleneck": "generator",
            "evidence": "a process of the generator used 97 % of its core",
        }
    return {
        "run": made.id,
        "bottleneck": "broker cpu",
        "evidence": "the broker used 93 % of the busiest core, the disk 2 %",
    }


def _curves() -> Iterator[dict[str, Any]]:
    for target, slower in (("heliograph", 1.0), ("mosquitto", 2.6)):
        for ratio in (1, 10, 100, 1000):
            sent = 800_000 / slower / (ratio**0.8)
            for y_name, y in (("sent_rate", sent), ("received_rate", sent * ratio)):
                yield _point("FANOUT", target, "1:100", "fan_out", ratio, y_name, y)
        for clients in (1, 5, 10, 20, 40, 60, 80):
            rate = 5200 / slower * (1 - math.exp(-clients / 15))
            yield _point("C1", target, "2 KB", "clients", clients, "round_trips", rate)


def _point(scenario: str, target: str, variant: str, x_name: str, x: float, y_name: str, y: float) -> dict[str, Any]:
    return {
        "scenario": scenario, "target": target, "variant": variant, "x_name": x_name, "x": float(x), "y_name": y_name,
        "y": y, "run": f"{scenario}-{x}",
    }  # fmt: skip


def _distribution(made: Made) -> Iterator[dict[str, Any]]:
    """A bell over the logarithm of time, with a second, smaller one in the tail."""
    group, kind = _latency_group(made)
    for step in range(-20, 60):
        bucket = made.latency * 2 ** (step / 10)
        count = 10_000 * math.exp(-((step / 6) ** 2)) + 300 * math.exp(-(((step - 38) / 4) ** 2))
        if count >= 1:
            yield {"run": made.id, "group": group, "kind": kind, "bucket_ms": bucket, "count": int(count)}


def _timeline(made: Made) -> Iterator[dict[str, Any]]:
    for second in range(-2, SECONDS):
        wave = 1 + 0.05 * math.sin(second * 1.3) - (0.6 if second == 7 else 0)
        yield {
            "run": made.id, "second": second, "sent": int(made.rate * wave),
            "received": int(made.rate * made.fan_out * wave),
            "avg_ms": made.latency, "p99_ms": made.latency * 3 / wave, "server_cpu_cores": made.cores * wave,
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
