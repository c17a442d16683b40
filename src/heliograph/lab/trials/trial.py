"""What a trial is, and what comes of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heliograph.lab.load.histogram import Histogram
from heliograph.lab.scenarios import Scenario
from heliograph.lab.targets.system import Kind
from heliograph.lab.trials.judgement import Verdict
from heliograph.lab.trials.search import Purpose


@dataclass(frozen=True)
class Trial:
    """A scenario to be run once on one system."""

    scenario: Scenario
    kind: Kind
    scale: float = 1.0
    variant: str = ""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    round: int = 0
    purpose: Purpose = "measure"
    rack_units: float | None = None
    at_least: bool = False
    """It confirms a rate above which the generator could do no more: the system may be able to."""

    @property
    def title(self) -> str:
        """For people."""
        named = self.scenario.variant(self.variant).name
        return f"{self.scenario.name}{f' ({named})' if named else ''} on {self.kind.name}"


@dataclass(frozen=True)
class Result:
    """What came of it."""

    trial: Trial
    run: str
    verdict: Verdict
    seconds: float
    sent: int
    received: int
    lost: int
    latencies: Mapping[str, Histogram] = field(default_factory=dict)
    """By kind, of all groups together."""
    cpu_cores: float | None = None
    """How many cores the system used, on average."""

    @property
    def sent_rate(self) -> float:
        """Messages per second that went in."""
        return self.sent / self.seconds

    @property
    def received_rate(self) -> float:
        """Messages per second that came out."""
        return self.received / self.seconds

    @property
    def latency(self) -> Histogram | None:
        """Of messages, or of round trips, or of connecting: what the load was about."""
        kinds = ("message", "round_trip", "connect")
        return next((self.latencies[kind] for kind in kinds if kind in self.latencies), None)
