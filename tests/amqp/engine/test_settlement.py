"""Runs of unsettled deliveries, against a dictionary of single ones."""

from hypothesis import given
from hypothesis import strategies as st

from amqp.strategies import quick
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
