"""What one command measures: runs that belong together, where they are kept, and who looks on."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from heliograph.lab.load.meter import Interval
from heliograph.lab.raw.manifest import Manifest
from heliograph.lab.trials.conditions import versions
from heliograph.lab.trials.judgement import Verdict
from heliograph.lab.trials.steering import Steering
from heliograph.lab.trials.trial import Trial


def _ignore(interval: Interval) -> None:
    """Nobody looks on."""


@dataclass(frozen=True)
class Experiment:
    """Its id is in the manifest of each of its runs."""

    id: str
    directory: Path
    look_on: Callable[[Interval], None] = _ignore
    make_control: Callable[[], Steering] = Steering
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
