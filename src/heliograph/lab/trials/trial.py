"""A trial, its result, the experiment that it belongs to, and control of its load while it runs."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from heliograph.lab.load import Control
from heliograph.lab.load.histogram import Histogram
from heliograph.lab.load.meter import Interval
from heliograph.lab.raw.run_tables import Manifest
from heliograph.lab.scenarios import Scenario
from heliograph.lab.targets.system_under_test import SystemKind
from heliograph.lab.trials.conditions import versions
from heliograph.lab.trials.verdict import Verdict

Purpose = Literal["measure", "step", "bisect", "confirm"]
"""What a run is for: a single measurement, or a phase of the search for the highest rate."""


class ControlAction(NamedTuple):
    """Something that was done to a running load."""

    at: float  # of `time.monotonic`
    kind: str  # rate or stop
    text: str


class RecordedControl(Control):
    """Changes the rate of one load, or ends it early."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[ControlAction] = []

    def set_rate(self, rate: float | None = None, *, factor: float | None = None) -> None:
        """Set the rate of all paced groups together (messages per second), or a multiple of the planned rate."""
        super().set_rate(rate, factor=factor)
        text = f"{rate:g} msg/s" if rate is not None else f"{factor:g} times the planned rate"
        self.turns.append(ControlAction(time.monotonic(), "rate", text))

    def stop(self) -> None:
        """Send nothing more, and end as after the whole time."""
        super().stop()
        self.turns.append(ControlAction(time.monotonic(), "stop", "ended early"))

    @property
    def changed(self) -> bool:
        """Whether the rate is not the planned one any more."""
        return any(turn.kind == "rate" for turn in self.turns)


@dataclass(frozen=True)
class Trial:
    """A scenario to be run once on one system."""

    scenario: Scenario
    kind: SystemKind
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
class TrialResult:
    """The result of a trial."""

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


def _ignore(interval: Interval) -> None:
    """The default: intervals are not shown."""


@dataclass(frozen=True)
class Experiment:
    """Its id is in the manifest of each of its runs."""

    id: str
    directory: Path
    on_interval: Callable[[Interval], None] = _ignore
    make_control: Callable[[], RecordedControl] = RecordedControl
    """Asked once for each run: what changes the load while it runs."""

    def manifest(
        self,
        trial: Trial,
        run: str,
        verdict: Verdict,
        *,
        started: datetime,
        seconds: float,
        plan: str,
        setup: Mapping[str, Any],
        machine: Mapping[str, Any],
        connections: int,
        note: str = "",
    ) -> Manifest:
        """The manifest of a run of this experiment."""
        scenario = trial.scenario
        values = scenario.values(trial.scale, trial.variant, trial.overrides)
        return Manifest(
            run=run,
            experiment=self.id,
            scenario=scenario.name,
            document=scenario.document,
            variant=scenario.variant(trial.variant).name,
            type=scenario.type,
            target=trial.kind.name,
            target_version=trial.kind.version() or "",
            started=started,
            seconds=seconds,
            scale=trial.scale,
            round=trial.round,
            purpose=trial.purpose,
            parameters=json.dumps(values),
            plan=plan,
            setup=json.dumps(setup),
            machine=json.dumps(machine),
            versions=json.dumps(versions()),
            connections=connections,
            rack_units=trial.rack_units,
            passed=verdict.passed,
            verdict=verdict.why,
            generator_bound=verdict.generator_bound or trial.at_least,
            note=note,
        )
