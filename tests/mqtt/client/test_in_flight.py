"""What is in flight, against a model that looks at every message."""

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.mqtt.client.in_flight import InFlight, packet_id

ROOM = 12
FIRST = st.sampled_from([0, 65_530])


class Model:
    """The state of each message by its number."""

    def __init__(self):
        self.states = {}

    def move(self, identifier, count, qos, before, after):
        """Like acknowledgements of consecutive identifiers, one by one."""
        moved = []
        for wanted in range(identifier, identifier + count):
            for number, state in self.states.items():
                if packet_id(number) == wanted and state == (qos, before):
                    moved.append(number)
        for number in moved:
            self.states[number] = (qos, after)
        self.states = {number: state for number, state in self.states.items() if state[1] != "done"}
        return moved


def flat(ranges):
    return [number for some in ranges for number in some]


@st.composite
def _steps(draw):
    return draw(
        st.lists(
            st.tuples(
                st.sampled_from(["publish", "publish", "puback", "pubrec", "pubcomp", "refused", "resume"]),
                st.integers(1, 6),
                st.integers(0, ROOM),
            ),
            max_size=60,
        )
    )


@settings(deadline=None, max_examples=500)
@given(first=FIRST, steps=_steps(), qos=st.integers(1, 2))
def test_acknowledgements_in_any_order(first, steps, qos):
    flight, model = InFlight(), Model()
    flight.forget(65_535)
    flight.add("t", [b""] * first, 1, False, {})
    flight.acknowledged(1, first)
    flight.forget(ROOM)
    number = first
    for what, count, offset in steps:
        identifier = packet_id(first + offset)
        count = min(count, 65_536 - identifier)
        if what == "publish":
            taken = min(count, flight.room)
            for run in flight.add("t", [b"x"] * taken, qos, False, {}):
                for each in range(run.first, run.first + len(run.payloads)):
                    assert each == number
                    assert packet_id(each) not in map(packet_id, model.states)
                    model.states[each] = (qos, "sent")
                    number += 1
        elif what == "puback" and qos == 1:
            assert flat(flight.acknowledged(identifier, count)) == model.move(identifier, count, 1, "sent", "done")
        elif what == "pubrec" and qos == 2:
            assert flat(flight.received(identifier, count)) == model.move(identifier, count, 2, "sent", "releasing")
        elif what == "refused" and qos == 2:
            moved = model.move(identifier, count, 2, "sent", "done")
            assert flat(flight.received(identifier, count, refused=True)) == moved
        elif what == "pubcomp" and qos == 2:
            flight.completed(identifier, count)
            model.move(identifier, count, 2, "releasing", "done")
        elif what == "resume":
            flight.lost()
            releases = [packet for start, some in flight.resume(ROOM) for packet in range(start, start + some)]
            assert releases == [packet_id(each) for each, state in model.states.items() if state == (2, "releasing")]
            again = [run.first + at for run, start, stop in flight.again() for at in range(start, stop)]
            assert again == [each for each, state in model.states.items() if state[1] == "sent"]
        assert flight.size == len(model.states)
        assert flight.size + flight.room <= ROOM or what == "resume"
