"""The search of a scenario: its parameter is raised, steps are short, and the confirmation takes the whole time."""

import pytest

from heliograph.lab.scenarios import load_scenario
from heliograph.lab.targets.target_catalogue import choose_systems
from heliograph.lab.trials.peak_search import find_peak, unit_of
from heliograph.lab.trials.trial import Trial, TrialResult
from heliograph.lab.trials.verdict import Verdict


class Simulated:
    """Stands for the runner: a system that holds so much of the parameter, and no more."""

    def __init__(self, parameter, peak, *, by_generator=False):
        self.parameter = parameter
        self.peak = peak
        self.by_generator = by_generator
        self.trials = []

    def run(self, trial):
        self.trials.append(trial)
        value = trial.overrides[self.parameter]
        trial.scenario.plan(trial.scale, trial.variant, trial.overrides)  # a load that can be planned
        verdict = Verdict(value <= self.peak, "too much", self.by_generator and value > self.peak)
        return TrialResult(trial, "r", verdict, 1.0, sent=1, received=1, lost=0)


def trial(name, **others):
    return Trial(load_scenario(name), choose_systems(["heliograph"], [], None, verify=True)[0], **others)


def test_the_rate_of_a_scenario_is_raised_to_its_peak():
    runner, told = Simulated("rate", 5_000), []
    found = find_peak(trial("FANOUT", scale=0.01), runner, lambda value, result: told.append((value, result)))
    assert found.rate == pytest.approx(5_000, rel=0.05)
    assert len(told) == len(runner.trials) == len(found.attempts)


def test_steps_are_short_and_the_confirmation_takes_the_whole_time():
    runner = Simulated("rate", 5_000)
    find_peak(trial("FANOUT", scale=0.01, overrides={"seconds": 60.0}), runner, lambda *_: None)
    assert {one.overrides["seconds"] for one in runner.trials if one.purpose != "confirm"} == {5.0}
    assert [one.overrides["seconds"] for one in runner.trials if one.purpose == "confirm"] == [60.0]


@pytest.mark.parametrize("by_generator", [True, False])
def test_what_the_generator_ended_is_kept_as_a_lower_bound(by_generator):
    runner = Simulated("rate", 5_000, by_generator=by_generator)
    find_peak(trial("FANOUT", scale=0.01), runner, lambda *_: None)
    assert [one.at_least for one in runner.trials if one.purpose == "confirm"] == [by_generator]
    assert not any(one.at_least for one in runner.trials if one.purpose != "confirm")


def test_clients_are_raised_in_whole_numbers():
    runner = Simulated("clients", 333)
    found = find_peak(trial("C1", scale=0.1), runner, lambda *_: None)
    assert found.rate == pytest.approx(333, rel=0.05)
    assert all(isinstance(one.overrides["clients"], int) for one in runner.trials)
    assert unit_of(trial("C1")) == "requesters"
