"""Packets and actions leave when the log is safe, in their order, and not sooner."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.broker.core.defects import Defects
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.statistics import Statistics
from heliograph.broker.storage.held_back import HeldBack

INTERVAL = 0.01


class Ledger:
    """A log that is as safe as the test says."""

    def __init__(self):
        self.end = self.safe = 0
        self.halted = False


class Bench:
    """What is held for a broker with a log and a clock."""

    def __init__(self, journal):
        self.now = 100.0
        self.ledger = Ledger()
        self.defects = Defects(Statistics(), journal)
        self.held = HeldBack(self.ledger, INTERVAL, lambda: self.now, self.defects)
        self.dirty = []
        self.did = []

    def outlet(self):
        outlet = Outlet()
        outlet.answered = 1.0  # long ago: it is in no hurry
        return outlet

    def end_turn(self):
        self.ledger.end += 10
        self.held.end_turn()

    def release(self, enough=lambda: False):
        self.held.release(self.dirty, enough)

    def all_safe(self):
        self.ledger.safe = self.ledger.end
        self.release()

    def action(self, name):
        return lambda: self.did.append(name)


@pytest.fixture
def bench(failures):
    return Bench(failures)


def test_nothing_leaves_before_it_is_safe(bench):
    outlet = bench.outlet()
    bench.held.hold(outlet, b"a")
    bench.end_turn()
    bench.release()
    assert (outlet.chunks, outlet.unsafe, bench.held.ready) == ([], 1, False)
    bench.ledger.safe = 10
    assert bench.held.ready
    bench.release()
    assert (outlet.chunks, outlet.unsafe, outlet.answered) == ([b"a"], 0, 100.0)
    assert bench.dirty == [outlet]
    assert bench.held.is_empty


def test_an_outlet_that_has_something_is_not_listed_again_and_one_that_has_finished_gets_nothing(bench):
    busy, finished = bench.outlet(), bench.outlet()
    busy.chunks.append(b"before")
    finished.finished = True
    bench.held.answer_all([busy, finished], [b"a", b"b"])
    bench.end_turn()
    bench.all_safe()
    assert busy.chunks == [b"before", b"a"]
    assert finished.chunks == []
    assert (finished.unsafe, bench.dirty) == (0, [])


@pytest.mark.parametrize(("seconds", "at_once"), [(5 * INTERVAL, True), (11 * INTERVAL, False)])
def test_a_client_that_was_just_answered_is_in_conversation(bench, seconds, at_once):
    outlet = bench.outlet()
    outlet.answered = bench.now - seconds
    bench.held.answer(outlet, b"a")
    assert bench.held.at_once is at_once
    bench.end_turn()
    assert not bench.held.at_once
    bench.defects.serving = outlet
    bench.held.when_safe(bench.action("x"))
    assert bench.held.at_once is at_once


def test_a_client_that_has_just_come_is_too_and_one_that_is_only_sent_something_is_not(bench):
    bench.held.hold(Outlet(), b"a")
    assert not bench.held.at_once
    bench.held.answer_all([bench.outlet(), Outlet()], [b"a", b"b"])
    assert bench.held.at_once


def test_what_goes_behind_something_need_not_wait_for_this_turn(bench):
    outlet = bench.outlet()
    bench.held.hold(outlet, b"1")
    bench.end_turn()
    bench.held.hold_behind(outlet, b"2")
    assert not bench.held.is_awaited
    bench.held.hold(outlet, b"3")
    bench.held.hold_behind(outlet, b"4")  # not past the third
    bench.end_turn()
    bench.ledger.safe = 10
    bench.release()
    assert outlet.chunks == [b"1", b"2"]
    bench.all_safe()
    assert outlet.chunks == [b"1", b"2", b"3", b"4"]


def test_actions_follow_the_packets_of_their_turn(bench):
    outlet = bench.outlet()
    bench.defects.serving = outlet
    bench.held.when_safe(lambda: bench.did.append(list(outlet.chunks)))
    bench.held.hold(outlet, b"a")
    bench.end_turn()
    bench.all_safe()
    assert bench.did == [[b"a"]]


def test_an_action_that_fails_is_blamed_on_its_client_and_others_are_done(bench, failures):
    outlet = bench.outlet()
    bench.defects.serving = outlet
    bench.held.when_safe(lambda: 1 / 0)
    bench.held.when_safe(bench.action("other"))
    bench.end_turn()
    bench.all_safe()
    assert bench.did == ["other"]
    assert bench.defects.culprits == [outlet]
    assert failures.seen == [("what was to be done when something is safe", outlet)]


def test_what_was_to_be_done_since_a_mark_can_be_forgotten(bench):
    bench.held.when_safe(bench.action("before"))
    mark = bench.held.mark()
    bench.held.when_safe(bench.action("after"))
    bench.held.forget_actions(mark)
    bench.end_turn()
    bench.all_safe()
    assert bench.did == ["before"]


def test_nobody_is_told_anything_once_all_is_forgotten(bench):
    outlet = bench.outlet()
    bench.held.hold(outlet, b"1")
    bench.end_turn()
    bench.held.hold(outlet, b"2")
    bench.held.forget()
    bench.all_safe()
    assert bench.held.is_empty
    assert outlet.chunks == []


def test_an_action_may_forget_all_the_others(bench):
    bench.held.when_safe(bench.held.forget)
    bench.end_turn()
    bench.held.when_safe(bench.action("never"))
    bench.end_turn()
    bench.all_safe()
    assert bench.did == []


def test_nothing_leaves_while_the_log_has_halted(bench):
    bench.held.hold(bench.outlet(), b"a")
    bench.end_turn()
    bench.ledger.safe, bench.ledger.halted = 10, True
    assert not bench.held.ready


def test_of_very_much_the_rest_is_left_for_another_call(bench):
    outlets = [bench.outlet() for _ in range(250)]
    bench.held.answer_all(outlets, [b"a"] * 250)
    for number in range(40):
        bench.held.when_safe(bench.action(number))
    bench.end_turn()
    bench.ledger.safe = bench.ledger.end
    sent, done = [], []
    while bench.held.ready:
        bench.release(lambda: True)
        sent.append(len(bench.dirty))
        done.append(len(bench.did))
    assert sent == [100, 200, 250, 250, 250]
    assert done == [0, 0, 16, 32, 40]
    assert bench.did == list(range(40))


@given(st.lists(st.sampled_from(["a", "b", "behind a", "behind b", "end", "safe"]), max_size=40))
def test_each_client_gets_its_packets_in_their_order(steps):
    bench = Bench(None)
    outlets = {"a": bench.outlet(), "b": bench.outlet()}
    expected = {"a": [], "b": []}
    for number, step in enumerate(steps):
        name = step[-1]
        if step == "end":
            bench.end_turn()
        elif step == "safe":
            bench.ledger.safe = min(bench.ledger.end, bench.ledger.safe + 10)
            bench.release()
        elif step.startswith("behind"):
            if outlets[name].unsafe:
                bench.held.hold_behind(outlets[name], b"%d" % number)
                expected[name].append(b"%d" % number)
        else:
            bench.held.answer(outlets[name], b"%d" % number)
            expected[name].append(b"%d" % number)
    bench.end_turn()
    bench.all_safe()
    assert {name: outlet.chunks for name, outlet in outlets.items()} == expected
    assert [outlet.unsafe for outlet in outlets.values()] == [0, 0]
