"""Times of runs of messages are those of every message in them."""

import pytest

from heliograph.lab import timing
from heliograph.lab.timing import Timing, milliseconds


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])
    return now


def test_a_run_may_arrive_in_parts_and_together_with_others(clock):
    times = Timing()
    times.sent(10)
    clock[0] = 1.0
    times.sent(20)
    clock[0] = 3.0
    times.arrived(0, 4)
    clock[0] = 4.0
    times.arrived(4, 20)
    assert times.samples == [(0.0, 3.0, 4), (0.0, 4.0, 6), (1.0, 3.0, 10)]


def test_average_and_percentile_count_messages_not_runs(clock):
    times = Timing()
    times.sent(98)
    clock[0] = 0.001
    times.arrived(0, 98)
    times.sent(100)
    clock[0] = 0.101
    times.arrived(98, 100)
    found = milliseconds([times], since=0.0)
    assert found["ms on average"] == pytest.approx(2.98)
    assert found["ms 99P"] == pytest.approx(100)


def test_what_was_sent_before_the_interval_does_not_count(clock):
    times = Timing()
    times.sent(1)
    clock[0] = 5.0
    times.arrived(0, 1)
    assert milliseconds([times], since=1.0) == {}
