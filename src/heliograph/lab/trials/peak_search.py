"""Searches the highest rate that a system sustains: steps first, then bisection, then a confirmation.

The search does not know systems or loads. It calls a function that tries a rate and returns a verdict. Trials are
noisy, so a failure counts when it happens twice, and a success when the confirmation, which takes the whole time,
succeeds as well. `find_peak` applies it to the search parameter of a scenario.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from heliograph.lab.errors import InvalidScenario
from heliograph.lab.text_table import rounded
from heliograph.lab.trials.trial import Purpose, Trial, TrialResult
from heliograph.lab.trials.trial_runner import TrialRunner
from heliograph.lab.trials.verdict import Verdict

STEP = 2.0
CLOSE = 1.02
"""Rates that differ by less are taken to be the same."""
_LOWER = 0.97
"""The next rate to try when one was not confirmed, as a part of it."""
_CONFIRMATIONS = 6
_MOST_STEPS = 40

_FIRST_SHARE = 1 / 16
"""Of the scenario's own value at this scale: where the steps begin."""
_SHORT = 5.0
"""Seconds of a trial that is not the confirmation, at most."""


class TriedRate(Protocol):
    """The outcome of a trial at one rate."""

    @property
    def passed(self) -> bool:
        """Whether the pass rule held."""

    @property
    def generator_bound(self) -> bool:
        """Whether the generator was the limit, so that the trial does not show the system's limit."""

    @property
    def why(self) -> str:
        """Why it did not pass."""


TryRate = Callable[[float, Purpose], TriedRate]


@dataclass(frozen=True)
class Attempt:
    """One trial of the search."""

    rate: float
    purpose: Purpose
    passed: bool
    generator_bound: bool
    why: str


@dataclass(frozen=True)
class PeakFound:
    """The end of a search."""

    rate: float | None
    """The highest rate that was confirmed; None if not even the lowest one was."""
    generator_bound: bool
    """Whether the system may be able to do more, and the generator is not."""
    attempts: tuple[Attempt, ...]

    def sentence(self, unit: str) -> str:
        """What was found, in words."""
        if self.rate is None:
            last = self.attempts[-1]
            if self.generator_bound:
                return f"no figure: the generator was the limit even at {rounded(last.rate)} {unit}"
            return f"no rate was sustained; {rounded(last.rate)} {unit} failed: {last.why}"
        if self.generator_bound:
            return f"at least {rounded(self.rate)} {unit}; the generator was the limit"
        return f"{rounded(self.rate)} {unit}"


class Search:
    """One search; `run` does all of it."""

    def __init__(self, try_rate: TryRate, *, first: float, whole: bool = False) -> None:
        """`first` is a low rate to begin with; `whole` is for what comes in whole numbers, such as clients."""
        self._try = try_rate
        self._first = first
        self._whole = whole
        self._attempts: list[Attempt] = []
        self.failed: Attempt | None = None
        """The lowest rate that did not hold, so far."""

    @property
    def generator_bound(self) -> bool:
        """Whether what was found is a lower bound: above it, the generator could do no more."""
        return self.failed is not None and self.failed.generator_bound

    def run(self) -> PeakFound:
        """Steps, bisection, confirmation."""
        low = self._steps()
        if low is None:
            return self._found(None)
        while self.failed is not None and (middle := self._between(low, self.failed.rate)) is not None:
            attempt = self._twice(middle, "bisect")
            if _holds(attempt):
                low = attempt.rate
            else:
                self.failed = attempt
        return self._confirm(low)

    def _steps(self) -> float | None:
        """The highest rate that held before the first one that did not."""
        low, rate = None, self._first
        for _ in range(_MOST_STEPS):
            attempt = self._twice(self._rounded(rate), "step")
            if not _holds(attempt):
                self.failed = attempt
                break
            low, rate = attempt.rate, rate * STEP
        return low

    def _between(self, low: float, high: float) -> float | None:
        """A rate to try between these; None if they are close."""
        middle = self._rounded((low * high) ** 0.5)
        return middle if high > low * CLOSE and low < middle < high else None

    def _confirm(self, rate: float) -> PeakFound:
        """Try the whole time, and less if that does not hold."""
        for _ in range(_CONFIRMATIONS):
            attempt = self._once(rate, "confirm")
            if _holds(attempt):
                return self._found(rate)
            self.failed = attempt
            lower = self._rounded(rate * _LOWER)
            if lower >= rate or lower <= 0:
                break
            rate = lower
        return self._found(None)

    def _twice(self, rate: float, purpose: Purpose) -> Attempt:
        """Try again after a failure, which may be due to noise."""
        attempt = self._once(rate, purpose)
        return attempt if _holds(attempt) else self._once(rate, purpose)

    def _once(self, rate: float, purpose: Purpose) -> Attempt:
        verdict = self._try(rate, purpose)
        attempt = Attempt(rate, purpose, verdict.passed, verdict.generator_bound, verdict.why)
        self._attempts.append(attempt)
        return attempt

    def _rounded(self, rate: float) -> float:
        return max(1, round(rate)) if self._whole else rate

    def _found(self, rate: float | None) -> PeakFound:
        return PeakFound(rate, self.generator_bound, tuple(self._attempts))


def _holds(attempt: Attempt) -> bool:
    """Whether the system held the rate; not if the generator was the limit, as then the rate was not offered."""
    return attempt.passed and not attempt.generator_bound


def find_peak(trial: Trial, runner: TrialRunner, tell: Callable[[float, TrialResult], None]) -> PeakFound:
    """Search; `tell` is called with each value that was tried and its result."""
    scenario = trial.scenario
    name = scenario.search_parameter
    if not name:
        raise InvalidScenario(
            f"{scenario.name} has no search parameter; measure it with `helio lab run {scenario.name}`)"
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
