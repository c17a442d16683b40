"""UnitOfWork in slices: by turns, on its owner's account, and dropped or stopped at any place."""

import pytest

from heliograph.broker.core.defects import Defects
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.slices import SLICE, WAIT, Slices
from heliograph.broker.core.statistics import Statistics


class Bench:
    """Slices with a clock that only steps move: each takes half a slice."""

    def __init__(self, journal):
        self.now = 0.0
        self.did = []
        self.asked = 0
        self.defects = Defects(Statistics(), journal)
        self.slices = Slices(lambda: self.now, self.defects)
        self.slices.more = self._more

    def _more(self):
        self.asked += 1

    def steps(self, name, number, *, waits_at=None, fails_at=None):
        try:
            for step in range(number):
                if step == fails_at:
                    raise RuntimeError(name)
                self.did.append((name, step))
                self.now += 0.51 * SLICE
                yield WAIT if step == waits_at else None
        finally:
            self.did.append((name, "over"))

    def begin(self, name, number, **how):
        return self.slices.begin(name, self.steps(name, number, **how), lambda: self.did.append((name, "done")))

    def taken(self):
        did, self.did = self.did, []
        return did


@pytest.fixture
def bench(failures):
    return Bench(failures)


def test_what_is_small_is_done_at_once(bench):
    assert bench.begin("a", 1)
    assert bench.taken() == [("a", 0), ("a", "over")]
    assert not bench.slices.busy
    assert not bench.slices.is_working("a")
    assert not bench.asked


def test_what_is_large_is_done_slice_by_slice(bench):
    assert not bench.begin("a", 5)
    assert bench.taken() == [("a", 0), ("a", 1)]
    assert bench.slices.is_working("a")
    assert bench.asked == 1
    bench.slices.run()
    assert bench.taken() == [("a", 2), ("a", 3)]
    bench.slices.run()
    assert bench.taken() == [("a", 4), ("a", "over"), ("a", "done")]
    assert not bench.slices.busy
    assert not bench.slices.is_working("a")


def test_owners_take_turns(bench):
    bench.begin("a", 6)
    bench.begin("b", 4)
    bench.taken()
    while bench.slices.busy:
        bench.slices.run()
    names = [name for name, step in bench.taken() if isinstance(step, int)]
    assert names == ["a", "a", "b", "b", "a", "a"]


def test_work_that_waits_goes_on_when_it_is_woken(bench):
    assert not bench.begin("a", 2, waits_at=0)
    assert not bench.slices.busy
    bench.slices.run()
    assert bench.taken() == [("a", 0)]
    bench.slices.wake("a")
    bench.slices.wake("a")
    bench.slices.wake("somebody else")
    bench.slices.run()
    assert bench.taken() == [("a", 1), ("a", "over"), ("a", "done")]


def test_dropped_work_is_never_done(bench):
    bench.begin("a", 5)
    bench.begin("b", 5, waits_at=0)
    bench.taken()
    bench.slices.drop("a")
    bench.slices.drop("b")
    bench.slices.drop("nobody")
    assert bench.taken() == [("a", "over"), ("b", "over")]
    bench.slices.run()
    assert bench.taken() == []


def test_work_may_drop_itself(bench):
    def steps():
        yield None
        bench.slices.drop("a")
        yield None
        raise AssertionError("dropped work went on")

    assert bench.slices.begin("a", steps(), lambda: bench.did.append("done"))
    bench.slices.run()
    assert bench.did == []


def test_later_is_when_the_owners_turn_comes(bench):
    bench.slices.later("a", lambda: bench.did.append("a"))
    assert bench.slices.is_working("a")
    assert bench.did == []
    bench.slices.run()
    assert bench.did == ["a"]


def test_the_client_on_whose_account_work_is_done_is_blamed_if_it_fails(bench, failures):
    client = Outlet()
    served = []

    def steps():
        for _ in range(4):
            served.append(bench.defects.serving)
            bench.now += 0.51 * SLICE
            yield None
        raise RuntimeError("a defect")

    bench.defects.serving = client
    bench.slices.begin("a", steps(), lambda: None)
    bench.defects.serving = None
    bench.begin("b", 3)
    while bench.slices.busy:
        bench.slices.run()
    assert served == [client] * 4
    assert bench.defects.serving is None
    assert bench.defects.culprits == [client]
    assert len(failures.seen) == 1
    assert ("b", "done") in bench.did
    assert not bench.slices.is_working("a")


def test_what_fails_in_the_first_slice_is_the_callers_to_handle(bench):
    with pytest.raises(RuntimeError):
        bench.begin("a", 2, fails_at=0)
    assert not bench.slices.is_working("a")
    assert not bench.slices.busy
