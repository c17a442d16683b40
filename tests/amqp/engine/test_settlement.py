"""Unsettled deliveries, and dispositions of ranges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp.pair import Linked
from amqp.raw import receiving, sending
from amqp.strategies import quick
from heliograph.amqp import (
    Accepted,
    Attached,
    Error,
    Modified,
    Rejected,
    Released,
    Settled,
    Target,
    TransactionalState,
)
from heliograph.amqp.codec.performatives import (
    Disposition,
    End,
    Flow,
    Transfer,
)
from heliograph.amqp.engine.settlement import Unsettled

steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 10), st.sampled_from("abc")),
        st.tuples(st.just("skip"), st.integers(1, 3), st.just("")),
        st.tuples(st.sampled_from(["take", "within", "take_numbers"]), st.integers(-5, 60), st.integers(0, 20)),
        st.tuples(st.just("forget"), st.integers(0, 0), st.sampled_from("abc")),
    ),
    max_size=30,
)


def singles(runs):
    return [(number, run.link, run.shift) for run in runs for number in range(run.first, run.last + 1)]


@quick
@given(steps)
def test_runs_are_what_single_deliveries_would_be(script):
    runs = Unsettled()
    model = {}
    following = shift = 0
    for step, number, more in script:
        if step == "add":
            runs.add(following, following + number - 1, more, shift)  # any object does for a link
            model.update({following + n: (more, shift) for n in range(number)})
            following += number
        elif step == "skip":
            shift += number  # numbers whose deliveries were never sent
        elif step == "forget":
            runs.forget(more)
            model = {key: value for key, value in model.items() if value[0] != more}
        else:
            last = number + more
            offset = 1 if step == "take_numbers" else 0
            found = [(key, *value) for key, value in model.items() if number <= key + offset * value[1] <= last]
            assert singles(getattr(runs, step)(number, last)) == found
            if step != "within":
                for key, *_ in found:
                    del model[key]
    assert singles(runs.within(-100, 1000)) == [(key, *value) for key, value in model.items()]


def test_deliveries_in_a_row_are_one_run():
    runs = Unsettled()
    for number in range(1000):
        runs.add(number, number, "link", 0)
    assert len(runs) == 1


OUTCOMES = [
    Accepted(),
    Released(),
    Rejected(Error("amqp:not-allowed", "x" * 300)),
    Modified(True, True, {"x-opt-why": "because"}),
    TransactionalState(b"t1", Accepted()),
]


@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda outcome: type(outcome).__name__)
def test_the_outcome_of_a_run_comes_back_as_one_event(outcome):
    pair = Linked()
    pair.give_credit(100)
    numbers = pair.sender.send([b"x"] * 100)
    pair.run()
    for number in numbers:
        pair.receiver.settle(number, number, outcome)
    pair.run()
    assert pair.client.of(Settled) == [Settled(pair.sender, numbers[0], numbers[-1], outcome, True)]
    assert not len(pair.session.outgoing_unsettled)
    assert not len(pair.receiver.session.incoming)


def test_adjacent_ranges_become_one_frame_whatever_their_order():
    pair = Linked()
    pair.give_credit(10)
    pair.sender.send([b"x"] * 10)
    pair.run()
    for number in (5, 3, 4, 0, 9, 8, 1, 2, 7, 6):
        pair.receiver.settle(number, number, Accepted())
    output = pair.server.take_output()
    assert output.count(b"\x00\x53\x15") == 1
    assert len(output) == int.from_bytes(output[:4], "big")


def test_different_outcomes_are_told_in_their_order():
    pair = Linked()
    pair.give_credit(4)
    pair.sender.send([b"x"] * 4)
    pair.run()
    outcomes = [Accepted(), Released(), Accepted(), Modified(True)]
    for number, outcome in enumerate(outcomes):
        pair.receiver.settle(number, number, outcome)
    pair.run()
    assert [(event.first, event.last, event.state) for event in pair.client.of(Settled)] == [
        (number, number, outcome) for number, outcome in enumerate(outcomes)
    ]


def test_a_range_over_several_links_is_an_event_for_each():
    pair = Linked()
    other = pair.session.attach_sender("other", Target("q"))
    pair.run()
    pair.receiver.flow(10)
    pair.server.last(Attached).link.flow(10)
    pair.run()
    pair.sender.send([b"a"] * 2)
    other.send([b"b"] * 2)
    pair.sender.send([b"c"])
    pair.run()
    pair.receiver.session.write(Disposition(True, 0, 4, True, Accepted()))
    pair.run()
    assert [(event.link, event.first, event.last) for event in pair.client.of(Settled)] == [
        (pair.sender, 0, 1),
        (other, 2, 3),
        (pair.sender, 4, 4),
    ]


@pytest.mark.parametrize(("first", "last"), [(0, 0xFFFFFFFF), (5, 3), (100, 200), (0xFFFFFFF0, 0xFFFFFFFF)])
def test_dispositions_for_what_was_never_sent_settle_nothing_more(first, last):
    raw, link = receiving()
    raw.send(Flow(0, 1000, 0, 1000, handle=0, delivery_count=0, link_credit=10))
    link.send([b"x"] * 2)
    raw.send(Disposition(True, first, last, True, Accepted()))
    raw.send(Disposition(False, first, last, True, Accepted()))
    for event in raw.side.of(Settled):
        assert 0 <= event.first <= event.last <= 1
    raw.send(Disposition(True, 0, 1, True, Accepted()))
    assert not raw.of(End)
    assert not len(link.session.outgoing_unsettled)


def test_the_sender_may_settle_first():
    raw, link = sending()
    raw.send(*[Transfer(0, n, b"%d" % n) for n in range(3)])
    raw.send(Disposition(False, 0, 2, True, None))
    assert raw.side.of(Settled) == [Settled(link, 0, 2, None, True)]
    link.settle(0, 2, Accepted())
    raw.look()
    assert not raw.of(End)
