"""What all parts of one broker share is one object each."""

from heliograph.broker.core.interfaces import NoJournal
from heliograph.broker.core.limits import Limits
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.services import Services


class Hand:
    """A clock that is set by hand."""

    time = 5.0

    def __call__(self):
        return self.time


def services(limits=None, journal=None):
    return Services(limits or Limits(), Hand(), lambda: 1_700_000_000.0, iter("abc").__next__, journal or NoJournal())


def test_clocks_and_names_are_those_that_were_handed_in():
    shared = services()
    assert (shared.now(), shared.wall()) == (5.0, 1_700_000_000.0)
    assert [shared.new_identifier(), shared.new_identifier()] == ["a", "b"]


def test_the_budget_is_that_of_the_limits():
    assert services(Limits(memory=123_456)).memory.limit == 123_456


def test_a_timer_that_fails_is_a_defect_of_this_broker(failures):
    shared = services(journal=failures)
    outlet = Outlet()
    shared.timers.at(1.0, lambda _: 1 / 0, outlet)
    shared.timers.run(shared.now())
    assert shared.stats.internal_errors == 1
    assert shared.defects.culprits == [outlet]
    assert failures.seen == [("a timer", outlet)]


def test_work_in_slices_that_fails_is_one_too(failures):
    shared = services(journal=failures)
    shared.slices.later("owner", lambda: 1 / 0)
    shared.slices.run()
    assert shared.stats.internal_errors == 1


def test_slices_go_by_the_clock():
    shared = services()

    def steps():
        while True:
            shared.now.time += 1
            yield None

    assert not shared.slices.begin("owner", steps(), lambda: None)
    assert shared.now() == 6.0
