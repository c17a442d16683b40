"""The highest value of a scenario's search parameter that a system holds."""

from collections.abc import Callable
from dataclasses import replace

from heliograph.lab.errors import InvalidScenario
from heliograph.lab.trials.judgement import Verdict
from heliograph.lab.trials.running import Runner
from heliograph.lab.trials.search import Found, Purpose, Search
from heliograph.lab.trials.trial import Result, Trial

_FIRST_SHARE = 1 / 16
"""Of the scenario's own value at this scale: where the steps begin."""
_SHORT = 5.0
"""Seconds of a trial that is not the confirmation, at most."""


def find_peak(trial: Trial, runner: Runner, tell: Callable[[float, Result], None]) -> Found:
    """Search; `tell` is called with each value that was tried and what came of it."""
    scenario = trial.scenario
    name = scenario.search_parameter
    if not name:
        raise InvalidScenario(
            f"{scenario.name} has nothing to search: it is measured as it is (`helio lab run {scenario.name}`)"
        )
    usual = scenario.values(trial.scale, trial.variant, trial.overrides)[name]
    whole = isinstance(scenario.parameters[name].value, int)
    seconds = scenario.plan(trial.scale, trial.variant, trial.overrides).seconds

    def try_value(value: float, purpose: Purpose) -> Verdict:
        length = seconds if purpose == "confirm" else min(seconds, _SHORT)
        overrides = {**trial.overrides, name: int(value) if whole else value, "seconds": length}
        at_least = purpose == "confirm" and search.generator_bound
        result = runner.run(replace(trial, overrides=overrides, purpose=purpose, at_least=at_least))
        tell(value, result)
        return result.verdict

    search = Search(try_value, first=max(1.0, float(usual) * _FIRST_SHARE), whole=whole)
    return search.run()


def unit_of(trial: Trial) -> str:
    """Of what is searched."""
    name = trial.scenario.search_parameter
    return (trial.scenario.parameters[name].unit if name else "") or ("msg/s" if "rate" in name else name)
