"""An open loop knows when each message is due, at any pace, and changes its rate without losing count."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heliograph.errors import Problem
from heliograph.lab.load.plan import Group, Step
from heliograph.lab.load.schedule import NEVER, Piece, Schedule, pieces_of

START = 1_000_000_000_000
SECOND = 1_000_000_000


def schedule(**pace: object) -> Schedule:
    return Schedule(pieces_of(Group("g", "publish", 1, **pace), 100), START)  # type: ignore[arg-type]


def after(schedule: Schedule, seconds: float) -> int:
    return schedule.count(START + round(seconds * SECOND))


def test_a_steady_load_has_message_n_due_at_n_over_the_rate() -> None:
    steady = schedule(rate=4.0)
    assert (steady.due(0, 5) - START).tolist() == [0, SECOND // 4, SECOND // 2, 3 * SECOND // 4, SECOND]
    assert (steady.due(1, 2, step=4) - START).tolist() == [SECOND // 4, 5 * SECOND // 4]
    assert [after(steady, at) for at in (-0.1, 0, 0.24, 0.26, 1.01)] == [0, 1, 1, 2, 5]


def test_a_ramp_has_half_of_its_messages_in_the_last_third() -> None:
    ramp = schedule(rate=100.0, pace="ramp", ramp_seconds=10.0)
    assert after(ramp, 10) == pytest.approx(500, abs=1)
    assert after(ramp, 10 / np.sqrt(2)) == pytest.approx(250, abs=1)
    assert after(ramp, 20) == pytest.approx(1500, abs=1)


def test_bursts_come_at_their_interval_and_nothing_in_between() -> None:
    burst = schedule(rate=0.0, pace="burst", burst_rate=1000.0, burst_seconds=0.1, burst_every=1.0)
    assert [after(burst, at) for at in (0.099, 0.5, 0.999)] == [100, 100, 100]
    assert after(burst, 1.05) == pytest.approx(151, abs=1)
    assert burst.due(100, 1)[0] == START + SECOND  # the first message of the second burst


def test_steps_follow_each_other_and_the_last_one_stays() -> None:
    steps = schedule(pace="steps", steps=(Step(10.0, 1.0), Step(20.0, 1.0)))
    assert [after(steps, at) for at in (0.95, 1.96, 3.96)] == [10, 30, 70]


def test_a_new_rate_holds_from_now_on_and_what_was_due_stays_due() -> None:
    steady = schedule(rate=10.0)
    before = steady.due(0, 10)
    steady.change(2.0, START + SECOND)
    assert steady.due(0, 10).tolist() == before.tolist()
    assert after(steady, 2.01) == 31
    steady.change(0.0, START + 2 * SECOND)
    assert after(steady, 50) == pytest.approx(30, abs=1)
    assert steady.due(40, 1)[0] == NEVER
    steady.change(1.0, START + 50 * SECOND)
    assert after(steady, 51.01) == pytest.approx(41, abs=1)


# Messages a second, and how that changes; a message in a year is none.
rates, slopes = (st.just(0.0) | st.floats(1e-6, most) for most in (1e5, 1e4))
pieces = st.lists(st.tuples(st.floats(0.01, 5), rates, slopes), min_size=1, max_size=6)


@settings(max_examples=50, deadline=None)
@given(pieces, st.floats(0.01, 1), st.floats(0, 0.99), st.floats(0, 20))
@example([(1.0, 0.0, 1.0)], 1.0, 5e-324, 0.0)
def test_count_and_due_agree(parts: list[tuple[float, float, float]], share: float, phase: float, at: float) -> None:
    made, start = [], 0.0
    for length, rate, slope in parts:
        made.append(Piece(start, rate, slope))
        start += length
    one = Schedule(tuple(made), START, share, phase)
    now = START + round(at * SECOND)
    count = one.count(now)
    due = one.due(max(0, count - 50), 60)
    assert bool((np.diff(due) >= 0).all())
    if count:
        assert one.due(count - 1, 1)[0] <= now + 1000
    assert one.due(count, 1)[0] >= now - 1000
    assert np.allclose(
        [one.when(number) for number in range(max(0, count - 50), max(0, count - 50) + 60)], due, rtol=1e-9
    )


def test_a_rate_that_ends_leaves_nothing_due() -> None:
    ending = Schedule((Piece(0.0, 1.0), Piece(1.0, 0.0)), START)
    assert after(ending, 5) == 1
    assert ending.due(0, 2).tolist() == [START, NEVER]
    assert ending.when(1) == NEVER


def test_processes_take_turns() -> None:
    halves = [Schedule((Piece(0.0, 10.0),), START, 0.5, phase) for phase in (0.0, 0.5)]
    together = sorted([*halves[0].due(0, 5), *halves[1].due(0, 5)])
    assert (np.diff(together) == SECOND // 10).all()


def test_a_pace_says_what_it_needs() -> None:
    with pytest.raises(Problem, match="'g' has pace 'ramp', which needs ramp_seconds"):
        schedule(pace="ramp")
