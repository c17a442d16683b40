"""Which runs a report shows: one per scenario, variant, target and scale, chosen from all there are."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from statistics import median_low

from heliograph.lab.report.measures import Measures
from heliograph.lab.report.results import RecordedRun, Results

_TRIALS = {"step", "bisect"}  # runs of a search in progress; what it found is a run that confirms


@dataclass(frozen=True)
class ReportCase:
    """The runs of the newest experiment with one scenario, variant, target and scale, and the one that is shown."""

    run: RecordedRun
    repeats: tuple[RecordedRun, ...]
    results: Results

    @cached_property
    def measures(self) -> Measures:
        """The figures of the run that is shown."""
        return Measures(self.results, self.run)

    @property
    def label(self) -> str:
        """Scenario, variant, and target."""
        return f"{self.run.label} on {self.run.target}"

    @property
    def subject(self) -> tuple[str, str, float]:
        """What all targets have in common that are shown beside each other."""
        return self.run.scenario, self.run.variant, self.run.scale

    @property
    def spread(self) -> tuple[float, float] | None:
        """The least and the greatest value of the repeats; None for a single run."""
        values = [value for run in self.repeats if (value := Measures(self.results, run).value) is not None]
        return (min(values), max(values)) if len(values) > 1 else None


def candidates(runs: Iterable[RecordedRun]) -> dict[tuple[str, str, str, float], list[RecordedRun]]:
    """Runs that may be shown, by scenario, variant, target and scale: those of its newest experiment.

    Runs that confirm a search count before single measurements, and those before the steps of a search.
    """
    found: dict[tuple[str, str, str, float], list[RecordedRun]] = {}
    for run in sorted(runs, key=lambda run: (run.started, run.run)):
        found.setdefault((run.scenario, run.variant, run.target, run.scale), []).append(run)
    return {
        key: _best([run for run in group if run.experiment == group[-1].experiment]) for key, group in found.items()
    }


def _best(runs: list[RecordedRun]) -> list[RecordedRun]:
    final = [run for run in runs if run.purpose not in _TRIALS]
    confirmed = [run for run in final if run.purpose == "confirm" and run.passed]
    measured = [run for run in final if run.purpose == "measure"]
    return confirmed or measured or final or [run for run in runs if run.passed] or runs


def cases(results: Results) -> list[ReportCase]:
    """What the report shows, in the order of the first runs; loads the scores of these runs."""
    groups = candidates(results.runs)
    results.load(run.run for group in groups.values() for run in group)
    return [ReportCase(_median(results, group), tuple(group), results) for group in groups.values()]


def _median(results: Results, runs: list[RecordedRun]) -> RecordedRun:
    """The run in the middle, so that one lucky or unlucky run decides nothing."""
    values = {run.run: Measures(results, run).value for run in runs}
    known = [value for value in values.values() if value is not None]
    if not known:
        return runs[-1]
    middle = median_low(known)
    return next(run for run in runs if values[run.run] == middle)
