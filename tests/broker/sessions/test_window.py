"""The window of messages in flight, against a model that knows every identifier by itself."""

from collections import deque
from contextlib import nullcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from heliograph.broker.core.memory import Budget
from heliograph.broker.core.span import Span
from heliograph.broker.sessions.buffer import BufferTotals
from heliograph.broker.sessions.session import Session, ShareGroup, Subscription
from heliograph.broker.sessions.window import Window
from heliograph.mqtt import ProtocolError
from heliograph.mqtt.runs import LAST_ID


def span_of(count):
    return Span(b"a", b"x" * count, count, head=0, qos=2, id_at=0, version5=False)


ALONE = Subscription(Session("alone", [], Budget().account("client", "alone")), "a")


class Windows(RuleBasedStateMachine):
    """Issues and acknowledges in any order, as no client should and some do."""

    LIMIT = 40

    def __init__(self):
        super().__init__()
        self.window = Window(self.LIMIT, [])
        self.window.next_id = LAST_ID - 20  # the interesting place is where identifiers start again
        self.sent = {}
        """Identifier to (QoS, which message), in the order of sending."""
        self.released = set()
        self.asks = False

    @rule()
    def start_asking(self):
        """Questions make the window remember more: some runs do without them."""
        self.asks = True

    def in_use(self):
        return set(self.sent) | self.released

    @rule(wanted=st.integers(1, 15), qos=st.integers(1, 2))
    def issue(self, wanted, qos):
        count = min(wanted, self.window.room())
        if not count:
            return
        span = span_of(count)
        first = self.window.issue(ALONE, span, 0, count, qos)
        ids = range(first, first + count)
        assert ids.start >= 1
        assert ids.stop <= LAST_ID + 1
        assert self.in_use().isdisjoint(ids), "an identifier in use was issued"
        for index, packet_id in enumerate(ids):
            self.sent[packet_id] = (qos, (span, index))

    def some_ids(self, data):
        known = sorted(self.in_use())
        first = data.draw(st.sampled_from(known) if known else st.integers(1, LAST_ID))
        first = max(1, first + data.draw(st.sampled_from([0, 0, 0, -1, 1, -3])))
        first = min(first, LAST_ID)
        count = min(data.draw(st.sampled_from([1, 1, 2, 5, 20])), LAST_ID + 1 - first)
        return first, count

    @rule(data=st.data())
    def acknowledge(self, data):
        first, count = self.some_ids(data)
        ids = range(first, first + count)
        wrong = [i for i in ids if self.sent.get(i, (0,))[0] == 2 or i in self.released]
        with pytest.raises(ProtocolError) if wrong else nullcontext():
            self.window.acknowledge(first, count)
        for packet_id in range(first, wrong[0]) if wrong else ids:
            self.sent.pop(packet_id, None)

    @rule(data=st.data())
    def receive(self, data):
        first, count = self.some_ids(data)
        unknown = self.window.receive(first, count)
        expected = []
        for packet_id in range(first, first + count):
            if self.sent.get(packet_id, (0,))[0] == 2:
                del self.sent[packet_id]
                self.released.add(packet_id)
            else:
                expected.append(packet_id)
        assert unknown == expected

    @rule(data=st.data())
    def complete(self, data):
        first, count = self.some_ids(data)
        ids = range(first, first + count)
        wrong = [i for i in ids if i in self.sent]
        with pytest.raises(ProtocolError) if wrong else nullcontext():
            self.window.complete(first, count)
        self.released.difference_update(range(first, wrong[0]) if wrong else ids)

    @rule(data=st.data())
    def refuse(self, data):
        packet_id, _ = self.some_ids(data)
        with pytest.raises(ProtocolError) if self.sent.get(packet_id, (0,))[0] == 1 else nullcontext():
            self.window.refuse(packet_id)
        if self.sent.get(packet_id, (0,))[0] == 2:
            del self.sent[packet_id]

    @precondition(lambda self: not self.window.sent)
    @rule()
    def go_on_from_just_before_an_identifier_in_use(self):
        """As if identifiers had gone all the way round."""
        if self.released:
            self.window.next_id = self.window.released[0][0]

    @rule(limit=st.integers(1, LIMIT))
    def reconnect(self, limit):
        """The client comes back and takes more or fewer messages at once."""
        self.window.limit = limit
        self.window.hold_all()
        self.let_go()

    def let_go(self):
        before = [f for f in self.window.sent if not f.held]
        flights = self.window.let_go()
        assert not any(flight in before for flight in flights)
        on_the_wire = sum(f.count for f in self.window.sent if not f.held) + len(self.released)
        held = [f for f in self.window.sent if f.held]
        assert self.window.holds is bool(held)
        if flights:
            assert on_the_wire <= self.window.limit
        if held:
            assert on_the_wire >= self.window.limit
            assert self.window.room() == 0

    @precondition(lambda self: self.window.holds)
    @rule()
    def send_more(self):
        self.let_go()

    @invariant()
    def knows_what_is_in_flight(self):
        found = {}
        for flight in self.window.sent:
            assert flight.count > 0
            for index in range(flight.count):
                found[flight.first + index] = (flight.qos, (flight.span, flight.lo + index))
        assert found == self.sent
        assert list(found) == list(self.sent), "sent again, they would not come in their first order"
        released = {first + index for first, count in self.window.released for index in range(count)}
        assert released == self.released
        assert self.window.in_flight == len(self.sent) + len(self.released)
        if self.asks:
            assert all(self.window.awaits_completion(packet_id) for packet_id in released)
            assert not any(self.window.awaits_completion(packet_id) for packet_id in self.sent)

    @invariant()
    def has_room_unless_it_is_full(self):
        if not self.window.holds:
            assert (self.window.room() > 0) is (self.window.in_flight < self.window.limit)


TestWindows = Windows.TestCase
TestWindows.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


def test_identifiers_start_again_at_1():
    window = Window(10, [])
    window.next_id = LAST_ID - 1
    assert window.room() == 2
    assert window.issue(ALONE, span_of(2), 0, 2, 1) == LAST_ID - 1
    assert window.room() == 8
    assert window.issue(ALONE, span_of(1), 0, 1, 1) == 1


def test_an_identifier_that_is_never_acknowledged_is_passed_over():
    window = Window(10, [])
    stuck = window.issue(ALONE, span_of(1), 0, 1, 1)
    seen = 0
    while seen < LAST_ID + 5:
        count = min(window.room(), 9)
        assert count
        first = window.issue(ALONE, span_of(count), 0, count, 1)
        assert stuck not in range(first, first + count)
        window.acknowledge(first, count)
        seen += count
    assert window.in_flight == 1


@given(st.permutations(range(1, 11)))
def test_acknowledgements_in_any_order_empty_the_window(order):
    window = Window(10, [])
    window.issue(ALONE, span_of(4), 0, 4, 1)
    window.issue(ALONE, span_of(6), 0, 6, 1)
    for packet_id in order:
        window.acknowledge(packet_id, 1)
    assert (window.in_flight, window.room(), list(window.sent)) == (0, 10, [])


def test_the_whole_window_can_be_issued_and_acknowledged():
    window = Window(LAST_ID, [])
    window.issue(ALONE, span_of(1), 0, 1, 1)
    assert window.room() == LAST_ID - 1
    window.issue(ALONE, span_of(LAST_ID - 1), 0, LAST_ID - 1, 1)
    assert window.room() == 0
    window.acknowledge(1, LAST_ID)
    assert window.room() == LAST_ID


@pytest.mark.parametrize(("qos", "taken_back"), [(1, True), (2, False)])
def test_only_qos_1_of_shared_subscriptions_is_taken_back(qos, taken_back):
    group = ShareGroup("g", "a", BufferTotals(), Budget().account("group", "g"))
    shared = Subscription(Session("s", [], Budget().account("client", "s")), "$share/g/a", group)
    group.members.append(shared)
    window = Window(10, [])
    window.issue(ALONE, span_of(2), 0, 2, qos)
    window.issue(shared, span_of(3), 0, 3, qos)
    back = window.take_back()
    assert [flight.first for flight in back] == ([3] if taken_back else [])
    assert window.in_flight == (2 if taken_back else 5)


def test_a_flight_that_is_dropped_makes_room():
    window = Window(3, [])
    window.issue(ALONE, span_of(3), 0, 3, 2)
    window.drop(window.sent[0])
    assert (window.in_flight, window.room()) == (0, 3)


def test_acknowledging_the_unknown_again_and_again_costs_next_to_nothing():
    class Counted(deque):
        """A queue that knows how often somebody has searched it."""

        searches = 0

        def __iter__(self):
            self.searches += 1
            return super().__iter__()

    window = Window(1000, [])
    for _ in range(1000):
        window.issue(ALONE, span_of(1), 0, 1, 2)
    window.receive(1, 500)
    window.sent, window.released = Counted(window.sent), Counted(window.released)
    for _ in range(100):
        window.acknowledge(60_000, 10)
        window.receive(60_000, 10)
        window.complete(60_000, 10)
        window.awaits_completion(60_000)
    assert window.sent.searches + window.released.searches <= 2
