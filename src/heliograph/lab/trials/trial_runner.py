"""Runs trials of any kind one after the other, interleaves them, and says why one cannot be run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from heliograph.lab.scenarios.scenario_terms import NEEDS
from heliograph.lab.targets.requirements import needs_of
from heliograph.lab.trials.broker_trial import run_broker_trial
from heliograph.lab.trials.trial import Experiment, Trial, TrialResult

if TYPE_CHECKING:
    from heliograph.lab.trials.flow_trial import FlowBench


_WORDS = NEEDS | {
    "qos2": "QoS 2",
    "selectors": "selectors",
    "mqtt-tcp-and-tls": "MQTT listeners with and without TLS at once",
}


def reason_to_skip(trial: Trial) -> str:
    """Why a trial cannot be run, in a sentence; empty if it can."""
    scenario, kind = trial.scenario, trial.kind
    if kind.version() is None:
        return f"{kind.name} is not installed{f'; {kind.install_hint}' if kind.install_hint else ''}"
    if why := scenario.refusal(kind.name, kind.capabilities):
        return why
    if scenario.is_flow:
        from heliograph.lab.trials.flow_trial import missing_database  # noqa: PLC0415 - flows take a second to import

        return missing_database(scenario.flow(trial.variant, trial.overrides))
    lacking = sorted(needs_of(scenario.plan(trial.scale, trial.variant, trial.overrides)) - kind.capabilities)
    if lacking:
        return (
            f"{scenario.name} needs {' and '.join(_WORDS[need] for need in lacking)}, which {kind.name} does not have"
        )
    return ""


class TrialRunner:
    """Runs the trials of an experiment."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._bench: FlowBench | None = None

    def __enter__(self) -> Self:
        """Do nothing: processes are started when they are needed."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End processes that were kept for the next trial."""
        self._drop_bench()

    def run(self, trial: Trial) -> TrialResult:
        """Run it once; a `Problem` if that was not possible."""
        if not trial.scenario.is_flow:
            self._drop_bench()
            return run_broker_trial(trial, self._experiment)
        from heliograph.lab.trials.flow_trial import FlowBench, run_flow_trial  # noqa: PLC0415 - takes a second

        self._bench = self._bench or FlowBench()
        return run_flow_trial(trial, self._experiment, self._bench)

    def _drop_bench(self) -> None:
        if self._bench is not None:
            self._bench.close()
            self._bench = None


def interleaved(trials: Sequence[Trial], repeats: int) -> Iterator[Trial]:
    """All trials in each round, in reverse order in every other one: A B, B A, A B.

    So a machine that slows down over time affects all systems alike.
    """
    for turn in range(repeats):
        for trial in trials if turn % 2 == 0 else reversed(trials):
            yield replace(trial, round=turn)
