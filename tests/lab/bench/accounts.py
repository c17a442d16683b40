"""What tests ask of the outcome of a case."""

from heliograph.lab.bench.bench_case import BenchOutcome


def accounts(outcome: BenchOutcome) -> tuple[int, int, int]:
    """Messages lost, duplicates, unexpected packets."""
    return outcome.lost, outcome.duplicates, outcome.unexpected


def assert_all_delivered(outcome: BenchOutcome) -> None:
    """There were messages, and nothing was wrong with any."""
    assert accounts(outcome) == (0, 0, 0)
    assert outcome.sent > 0
    assert outcome.delivered > 0
