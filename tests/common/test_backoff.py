"""Pauses between attempts that fail."""

from heliograph.common.backoff import Backoff


def test_pauses_double_up_to_the_longest() -> None:
    backoff = Backoff(0.5, 3.0)
    assert [backoff.pause() for _ in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_a_success_begins_anew() -> None:
    backoff = Backoff(0.5, 3.0)
    backoff.pause()
    assert not backoff.is_first
    backoff.succeeded()
    assert backoff.is_first
    assert backoff.pause() == 0.5


def test_jitter_changes_a_pause_but_not_those_that_follow() -> None:
    factors = iter([0.5, 1.0, 0.75])
    backoff = Backoff(1.0, 10.0, lambda: next(factors))
    assert [backoff.pause() for _ in range(3)] == [0.5, 2.0, 3.0]
