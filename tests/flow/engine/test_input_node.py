"""Which path a message takes that has failed before."""

import pytest

from heliograph.flow.engine.input_node import Backout, Path


@pytest.mark.parametrize(
    ("count", "has_failure_path", "expected"),
    [
        (0, True, Path.OUT),
        (2, True, Path.OUT),
        (3, True, Path.FAILURE),
        (5, True, Path.FAILURE),
        (6, True, Path.DEAD_LETTER),
        (2, False, Path.OUT),
        (3, False, Path.DEAD_LETTER),
    ],
)
def test_the_failure_path_has_as_many_attempts_as_out(count, has_failure_path, expected):
    assert Backout.of({"backout_threshold": 3}).path(count, has_failure_path=has_failure_path) is expected


@pytest.mark.parametrize(
    ("properties", "threshold"),
    [
        ({}, 1),
        ({"backout_threshold": 0}, 1),
        ({"backout_threshold": 2}, 2),
        ({"backout_threshold": 1, "backout_counts": "retries"}, 2),
    ],
)
def test_the_threshold_counts_attempts_or_retries(properties, threshold):
    assert Backout.of(properties).threshold == threshold


def test_the_backout_queue_comes_before_the_dead_letter_queue():
    backout = Backout.of({"backout_queue": "FAILED", "dead_letter_queue": "DEAD"})
    assert (backout.queues, backout.queue) == (("FAILED", "DEAD"), "FAILED")
    assert Backout.of({}).queue == "SYSTEM.DEAD.LETTER.QUEUE"


@pytest.mark.parametrize(("threshold", "counts"), [(1, [0, 1]), (2, [0, 1, 2, 3]), (5, [0, 4, 5, 9])])
def test_one_attempt_for_the_end_of_each_path_is_enough_for_who_cannot_give_messages_back(threshold, counts):
    assert Backout.of({"backout_threshold": threshold}).last_counts() == counts
