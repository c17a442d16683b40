"""The table at the end of `helio lab run`: a row for each scenario and system, medians where it was repeated."""

from collections.abc import Callable, Sequence
from statistics import median

from heliograph.lab import rounded
from heliograph.lab.load import Histogram
from heliograph.lab.trials import TrialResult

HEADINGS = (
    "SCENARIO",
    "VARIANT",
    "TARGET",
    "IN/S",
    "OUT/S",
    "AVG MS",
    "50P MS",
    "99P MS",
    "MAX MS",
    "LOST",
    "CORES",
    "PASSED",
)


def row(results: Sequence[TrialResult]) -> tuple[object, ...]:
    """The row of all rounds of one scenario on one system."""
    trial = results[0].trial
    passed = sum(result.verdict.passed for result in results)
    return (
        trial.scenario.name,
        trial.scenario.variant(trial.variant).name,
        trial.kind.name,
        rounded(median(result.sent_rate for result in results)),
        rounded(median(result.received_rate for result in results)),
        _latency(results, lambda found: found.sum_ns / found.count),
        _latency(results, lambda found: found.percentile(50)),
        _latency(results, lambda found: found.percentile(99)),
        _latency(results, lambda found: found.max_ns),
        sum(result.lost for result in results),
        _cores(results),
        ("yes" if passed else "no") if len(results) == 1 else f"{passed} of {len(results)}",
    )


def _latency(results: Sequence[TrialResult], part: Callable[[Histogram], float]) -> str:
    found = [result.latency for result in results]
    values = [part(one) for one in found if one is not None and one.count]
    return rounded(median(values) / 1e6) if values else "-"


def _cores(results: Sequence[TrialResult]) -> str:
    values = [result.cpu_cores for result in results if result.cpu_cores is not None]
    return f"{median(values):.2f}" if values else "-"
