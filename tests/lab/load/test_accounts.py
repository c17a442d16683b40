"""A generator that was the limit itself says so; one that was not does not."""

import numpy as np
import pytest

from heliograph.lab.load import Group, Histogram, Interval, Plan
from heliograph.lab.load.accounts import Accounts
from heliograph.lab.load.histogram import Recorder
from heliograph.lab.load.worker import Finished

PLAN = Plan((Group("in", "publish", 1, destination="t"),), 2.0)
MS = 1_000_000


def late(share: float, ms: int) -> Histogram:
    """Of a thousand messages, this share was late by so many milliseconds."""
    recorder = Recorder()
    recorder.record_all(np.full(1000, MS // 10))
    recorder.record_all(np.full(round(1000 * share), ms * MS))
    histogram = recorder.take()
    assert histogram is not None
    return histogram


def bottleneck(cpu: float = 0.5, waited: float = 0.1, lateness: Histogram | None = None) -> str | None:
    finished = Finished(cpu, waited, 1.0, {0: lateness or Histogram()}, {0: 0}, {0: ""}, {0: 0.25})
    return Accounts(PLAN).close({0: finished}, {}, 2.0).bottleneck


def test_a_generator_with_time_to_spare_is_not_the_bottleneck() -> None:
    assert bottleneck(lateness=late(0.005, 500)) is None


@pytest.mark.parametrize(("cpu", "waited"), [(0.95, 0.0), (0.3, 0.65)])
def test_one_that_computes_or_wants_to_all_the_time_is(cpu: float, waited: float) -> None:
    assert bottleneck(cpu, waited) == (
        f"process 0 of the generator used {cpu:.0%} of a core and waited {waited:.0%} of the time for one"
    )


def test_one_that_is_late_without_the_broker_s_doing_is() -> None:
    assert "of group 'in' was sent 25.0 ms late or more" in (bottleneck(lateness=late(0.05, 25)) or "")


def test_only_measured_seconds_count_for_latencies_and_all_of_them_for_messages() -> None:
    accounts = Accounts(PLAN)
    for second in (-1, 0, 1, 2):
        accounts.add(Interval(second, 0, "in", sent=10, latencies={"acknowledge": late(0, 0), "connect": late(0, 0)}))
    finished = Finished(0.5, 0.0, 1.0, {0: Histogram()}, {0: 0}, {0: ""}, {0: 0.25})
    totals = accounts.close({0: finished}, {}, 2.0).groups["in"]
    assert totals.sent == 40
    assert totals.latencies["acknowledge"].count == 2000
    assert totals.latencies["connect"].count == 4000
    assert totals.connect_seconds == 0.25
