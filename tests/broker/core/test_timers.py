"""Things to do later."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.broker.core.defects import Defects
from heliograph.broker.core.interfaces import NoJournal
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.statistics import Statistics
from heliograph.broker.core.timers import Timers


def quiet_timers():
    return Timers(Defects(Statistics(), NoJournal()))


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=20), st.integers(0, 20))
def test_what_is_due_and_not_cancelled_is_done_in_order(entries, now):
    timers = quiet_timers()
    done = []
    made = [
        timers.at(when, lambda at, index=index: done.append((index, at))) for index, (when, _) in enumerate(entries)
    ]
    for timer, (_, cancelled) in zip(made, entries, strict=True):
        if cancelled:
            timers.cancel(timer)
            timers.cancel(timer)
    timers.run(now)
    due = sorted((when, index) for index, (when, cancelled) in enumerate(entries) if when <= now and not cancelled)
    assert done == [(index, now) for _, index in due]
    timers.run(now)
    assert len(done) == len(due)


def test_an_action_may_set_another_timer_that_is_due_already():
    timers = quiet_timers()
    done = []
    timers.at(1, lambda now: timers.at(2, done.append))
    timers.run(3)
    assert done == [3]


def test_cancelled_timers_do_not_pile_up():
    timers = quiet_timers()
    for index in range(10_000):
        timers.cancel(timers.at(1_000_000 + index, print))
    assert len(timers) < 5000


def test_cancelling_nothing_or_what_is_done_changes_nothing():
    timers = quiet_timers()
    timer = timers.at(1, lambda now: None)
    timers.cancel(None)
    timers.run(1)
    timers.cancel(timer)
    assert len(timers) == 0


def test_whether_a_timer_rings_in_time_is_known():
    timers = quiet_timers()
    timer = timers.at(5, lambda now: None)
    assert timers.rings_by(5, timer)
    assert not timers.rings_by(4, timer)
    timers.run(5)
    assert not timers.rings_by(6, timer)


def test_a_timer_that_fails_keeps_no_other_from_being_done(failures):
    defects, client, done = Defects(Statistics(), failures), Outlet(), []
    timers = Timers(defects)
    timers.at(1, lambda now: 1 / 0, client)
    timers.at(2, lambda now: 1 / 0)
    timers.at(3, done.append)
    timers.run(4)
    assert done == [4]
    assert failures.seen == [("a timer", client), ("a timer", None)]
    assert defects.culprits == [client]
