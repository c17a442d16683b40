"""Runs trials: of whatever kind, one after the other, and so that systems that are compared meet the same moods."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from heliograph.lab.trials.broker_trial import run_broker_trial
from heliograph.lab.trials.experiment import Experiment
from heliograph.lab.trials.trial import Result, Trial


def run_trial(trial: Trial, experiment: Experiment) -> Result:
    """Run it once; a `Problem` or `BrokerGone` if that was not possible."""
    if trial.scenario.is_flow:
        from heliograph.lab.trials.flow_trial import run_flow_trial  # noqa: PLC0415 - flows take a second to import

        return run_flow_trial(trial, experiment)
    return run_broker_trial(trial, experiment)


def interleaved(trials: Sequence[Trial], repeats: int) -> Iterator[Trial]:
    """All trials in each round, in turned order in every other one: A B, B A, A B.

    A machine that gets slower and slower then does not decide who wins.
    """
    for turn in range(repeats):
        for trial in trials if turn % 2 == 0 else reversed(trials):
            yield replace(trial, round=turn)
