"""The figures of one run, from the tables of scores: what its scenario counts, its rates, latencies and costs."""

from collections.abc import Mapping
from typing import Any

from heliograph.lab.report.results import RecordedRun, Results
from heliograph.lab.report.table import TableRow

_SENDERS, _RECEIVERS = {"publish", "both", "request", "flow"}, {"consume", "both", "flow"}
_KINDS = ("message", "round_trip", "connect", "acknowledge", "commit", "subscribe")  # the first that was measured

# What counts where a scenario is not in the catalogue of this version.
_BY_TYPE = {
    "Throughput": ("received_rate", "msg/s"),
    "Latency": ("latency", "ms"),
    "Connection rate": ("connect_seconds", "s"),
    "Data-center efficiency": ("messages_per_watt", "msg/W"),
    "Request/responder": ("round_trips", "round trips/s"),
    "Message flow": ("flow_rate", "msg/s"),
}


class Measures:
    """Looks up and adds what the tables have of one run; None where nothing was measured."""

    def __init__(self, results: Results, run: RecordedRun) -> None:
        self.run = run
        self.about = results.known.about(run.scenario)
        usual = _BY_TYPE.get(run.type, ("received_rate", "msg/s"))
        self.score, self.unit = (self.about.score, self.about.unit) if self.about.score else usual
        self.rates = results.of("rates", run.run)
        self.costs: TableRow = results.one("costs", run.run)
        self.bottleneck: TableRow = results.one("bottlenecks", run.run)
        self._percentiles = results.of("percentiles", run.run)

    @property
    def is_latency(self) -> bool:
        """Whether the value is a time in itself, which stands in the columns of latencies."""
        return self.score in {"latency", "round_trip_latency"}

    @property
    def value(self) -> float | None:
        """The value of the score card."""
        return self.named(self.score)

    def named(self, name: str) -> float | None:
        """A figure by the name that scenarios use."""
        special = {
            "sent_rate": self.sent_rate,
            "received_rate": self.received_rate,
            "flow_rate": self.received_rate,
            "round_trips": self.round_trips,
            "clients": self.clients,
            "latency": self.latency.get("avg_ms"),
            "round_trip_latency": self.latency.get("avg_ms"),
            "connect_seconds": self.connect_seconds,
        }
        return special[name] if name in special else self.costs.get(name)

    @property
    def sent_rate(self) -> float | None:
        """Messages per second into the system."""
        return self._sum("sent_rate", _SENDERS)

    @property
    def received_rate(self) -> float | None:
        """Messages per second out of it."""
        return self._sum("received_rate", _RECEIVERS)

    @property
    def round_trips(self) -> float | None:
        """Requests per second that were answered."""
        return self._sum("received_rate", {"request"})

    @property
    def clients(self) -> float | None:
        """Clients that send; those that are connected where none sends."""
        return self._sum("connected", _SENDERS) or self._sum("connected", {row.get("role") for row in self.rates})

    @property
    def connect_seconds(self) -> float | None:
        """How long it took until all clients were connected."""
        return max((float(row["connect_seconds"]) for row in self.rates if row.get("connect_seconds")), default=None)

    @property
    def latency_kind(self) -> str:
        """Which latency the score card shows."""
        there = {row.get("kind") for row in self._percentiles}
        return next((kind for kind in _KINDS if kind in there), "")

    @property
    def latency(self) -> TableRow:
        """The percentiles of the latency that counts: of the group that the scenario names, else of most messages."""
        rows = [row for row in self._percentiles if row.get("kind") == self.latency_kind]
        named = self.about.group
        return max(rows, key=lambda row: (row.get("group") == named, row.get("count") or 0), default={})

    @property
    def cpu_percent(self) -> float | None:
        """How busy the system kept the whole machine, in per cent of all cores."""
        cores = self.costs.get("server_cpu_cores")
        return None if cores is None else 100 * float(cores) / self.run.cores

    @property
    def generator_share(self) -> float | None:
        """The generator's part of the CPU that it and the system used, in per cent."""
        server, generator = self.costs.get("server_cpu_cores"), self.costs.get("generator_cpu_cores")
        if server is None or generator is None or not server + generator:
            return None
        return 100 * float(generator) / float(server + generator)

    def total(self, name: str) -> int | None:
        """A count over all groups: sent, lost, duplicates ..."""
        values = [row[name] for row in self.rates if row.get(name) is not None]
        return sum(values) if values else None

    def _sum(self, name: str, roles: set[Any]) -> float | None:
        values = [row[name] for row in self.rates if row.get("role") in roles and row.get(name) is not None]
        return sum(values) if values else None


def requesters(run: RecordedRun) -> int:
    """How many clients of a run's load send requests."""
    return sum(int(group.get("clients") or 0) for group in run.groups if group.get("role") == "request")


def size_of(run: RecordedRun) -> int | None:
    """The size of the messages in bytes, of the first payload or the flow; None if the load does not say."""
    for group in run.groups:
        payload = group.get("payload")
        if isinstance(payload, Mapping) and payload.get("sizes"):
            return int(payload["sizes"][0])
    size = run.plan.get("size", run.parameters.get("size"))
    return int(size) if isinstance(size, int | float) else None


def is_persistent(run: RecordedRun) -> bool | None:
    """Whether messages were persistent; None if the load does not say."""
    known = [bool(group["persistent"]) for group in run.groups if "persistent" in group]
    return any(known) if known else run.plan.get("persistent", run.parameters.get("persistent"))
