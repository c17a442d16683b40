"""Places in a lane, against a plain list."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.broker.queues import lane as lanes
from heliograph.broker.queues.entry import Entry
from heliograph.broker.queues.lane import Lane

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 30)),
        st.tuples(st.just("take"), st.integers(1, 30)),
        st.tuples(st.just("remove"), st.integers(0, 1000)),
        st.tuples(st.just("give back"), st.integers(1, 10)),
        st.tuples(st.just("look"), st.integers(1, 10)),
    ),
    max_size=60,
)


@given(STEPS, st.randoms(use_true_random=False))
def test_whatever_is_taken_and_given_back_the_order_is_kept(steps, random):
    lanes._WORTH_CUTTING, usual = 4, lanes._WORTH_CUTTING
    try:
        lane, there, away, number = Lane(4), [], [], 0
        for step, amount in steps:
            if step == "append":
                new = [Entry(b"", 0, 4, 0, 0, number + at, -1) for at in range(amount)]
                number += amount
                lane.append(new)
                there += new
            elif step == "take":
                taken = lane.take(amount)
                assert taken == there[:amount]
                del there[:amount]
                away += taken
            elif step == "remove" and there:
                entry = there.pop(amount % len(there))
                lane.remove([entry])
                away.append(entry)
            elif step == "give back":
                random.shuffle(away)
                lane.give_back(away[:amount])
                there = sorted(there + away[:amount], key=lambda entry: entry.put_at)
                del away[:amount]
            else:
                place, seen = 0, []
                while place < lane.end:
                    some, place = lane.look(place, amount)
                    seen += some
                assert seen == there
            assert list(lane) == there
            assert lane.count == len(there)
            assert all(lane.at(entry.place) is entry for entry in there)
            assert all(lane.at(entry.place) is None for entry in away)
    finally:
        lanes._WORTH_CUTTING = usual


def test_a_message_that_is_left_behind_does_not_keep_the_places_of_all_that_pass_it():
    lane = Lane(4)
    orphan = Entry(b"", 0, 4, 0, 0, 0, -1)
    lane.append([orphan])
    for _ in range(10_000):
        entry = Entry(b"", 0, 4, 0, 0, 0, -1)
        lane.append([entry])
        lane.remove([entry])
    assert len(lane._slots) < 2_000
    assert list(lane) == [orphan]
