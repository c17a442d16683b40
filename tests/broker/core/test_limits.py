"""The pace at which new clients are let in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.broker.core.limits import Limits, Pace, WhenFull
from heliograph.errors import Problem
from heliograph.objects import read_object


def test_as_many_as_the_rate_may_come_at_once():
    pace = Pace()
    assert [pace.allows(3, 10.0) for _ in range(4)] == [True, True, True, False]


def test_time_brings_new_tokens():
    pace = Pace()
    while pace.allows(4, 0.0):
        pass
    assert not pace.allows(4, 0.125)
    assert pace.allows(4, 0.25)
    assert not pace.allows(4, 0.375)


def test_a_quiet_hour_is_not_saved_up():
    pace = Pace()
    assert pace.allows(2, 0.0)
    assert [pace.allows(2, 3600.0) for _ in range(3)] == [True, True, False]


def test_a_lower_rate_counts_at_once():
    pace = Pace()
    assert pace.allows(100, 0.0)
    assert [pace.allows(1, 0.0) for _ in range(2)] == [True, False]


@given(st.integers(1, 20), st.lists(st.floats(0, 2), max_size=60))
def test_no_second_has_more_than_twice_the_rate(rate, pauses):
    pace, now, allowed = Pace(), 0.0, []
    for pause in pauses:
        now += pause
        if pace.allows(rate, now):
            allowed.append(now)
    for begin in allowed:
        assert sum(begin <= when <= begin + 1 for when in allowed) <= 2 * rate


@pytest.mark.parametrize(
    "values", [{"connections": 0}, {"topic_levels": 7}, {"packet_size": 255}, {"inflight": 65536}, {"when_full": "no"}]
)
def test_limits_have_limits(values):
    with pytest.raises(Problem):
        read_object(Limits, values)


def test_limits_are_read_by_name():
    limits = read_object(Limits, {"max_messages": 7, "when_full": "discard_old"})
    assert (limits.max_messages, limits.when_full) == (7, WhenFull.DISCARD_OLD)
    assert limits.inflight == Limits().inflight
