"""Messages on links between two engines: runs, outcomes, credit, windows, sizes and wrapping numbers."""

import pytest

from amqp.pair import Linked, Pair
from heliograph.amqp import (
    Accepted,
    Attached,
    Detached,
    Error,
    Flowed,
    Modified,
    Options,
    Receiver,
    Rejected,
    Released,
    Settled,
    Target,
    TransactionalState,
    Transfers,
)
from heliograph.amqp.codec.performatives import Disposition, ReceiverSettleMode
from heliograph.amqp.engine.session import WINDOW

OUTCOMES = [
    Accepted(),
    Released(),
    Rejected(Error("amqp:not-allowed", "x" * 300)),
    Modified(True, True, {"x-opt-why": "because"}),
    TransactionalState(b"t1", Accepted()),
]


def payloads(side):
    return [one.payload for event in side.of(Transfers) for one in event.deliveries]


def test_a_run_arrives_as_one_event_in_order():
    pair = Linked()
    pair.give_credit(1000)
    sent = [b"%d" % n for n in range(1000)]
    numbers = pair.sender.send(sent)
    assert len(numbers) == 1000
    pair.run()
    (event,) = pair.server.of(Transfers)
    assert event.link is pair.receiver
    assert [one.payload for one in event.deliveries] == sent
    assert [one.number for one in event.deliveries] == list(range(1000))
    assert not event.deliveries[0].settled
    assert (pair.sender.credit, pair.receiver.credit) == (0, 0)


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


def test_presettled_messages_leave_nothing_behind():
    pair = Linked()
    pair.give_credit(10)
    pair.sender.send([b"x"] * 10, settled=True)
    pair.run()
    assert all(one.settled for one in pair.server.last(Transfers).deliveries)
    assert not len(pair.session.outgoing_unsettled)
    assert not len(pair.receiver.session.incoming)


def test_a_state_and_a_message_format_travel_with_a_run():
    pair = Linked()
    pair.give_credit(10)
    pair.sender.send([b"x", b"y" * 100_000], state=TransactionalState(b"t"), message_format=7)
    pair.run()
    for one in pair.server.last(Transfers).deliveries:
        assert (one.state, one.message_format) == (TransactionalState(b"t"), 7)


def test_the_receiver_may_settle_second():
    pair = Pair()
    pair.client.connection.open()
    sender = pair.client.connection.begin().attach_sender("to", Target("q"), rcv_settle_mode=ReceiverSettleMode.SECOND)
    pair.run()
    receiver = pair.server.last(Attached).link
    assert isinstance(receiver, Receiver)
    receiver.flow(10)
    pair.run()
    sender.send([b"x"] * 3)
    pair.run()
    receiver.settle(0, 2, Accepted())
    pair.run()
    assert pair.client.of(Settled) == [Settled(sender, 0, 2, Accepted(), False)]
    assert len(receiver.session.incoming)
    sender.settle(0, 2, Accepted())
    pair.run()
    assert pair.server.of(Settled) == [Settled(receiver, 0, 2, Accepted(), True)]
    assert not len(receiver.session.incoming)
    assert not len(sender.session.outgoing_unsettled)


def test_drain_gives_back_the_credit_that_is_not_used():
    pair = Linked()
    pair.consumer.flow(10, drain=True)
    pair.run()
    assert (pair.producer.credit, pair.producer.drain) == (10, True)
    pair.producer.send([b"last"])
    pair.producer.drained()
    pair.run()
    assert payloads(pair.client) == [b"last"]
    assert pair.client.last(Flowed).link is pair.consumer
    assert (pair.consumer.credit, pair.consumer.drain) == (0, False)
    pair.consumer.flow(5)
    pair.run()
    assert (pair.producer.credit, pair.producer.drain) == (5, False)


def test_an_echo_is_answered():
    pair = Linked()
    pair.consumer.flow(10, echo=True)
    pair.run()
    assert pair.client.of(Flowed) == [Flowed(pair.consumer)]


def test_a_sender_says_what_it_has():
    pair = Linked()
    pair.producer.offer(77)
    pair.run()
    assert pair.client.last(Flowed).link.available == 77


def test_credit_is_what_may_be_sent_from_now_on_whatever_is_on_the_way():
    pair = Linked()
    pair.give_credit(10)
    pair.consumer.flow(10)
    pair.producer.send([b"x"] * 4)
    pair.run()
    assert pair.producer.credit == 6
    assert pair.consumer.credit == 6


def test_more_than_the_credit_cannot_be_sent():
    pair = Linked()
    pair.give_credit(1)
    with pytest.raises(ValueError, match="credit for 1"):
        pair.sender.send([b"x"] * 2)


@pytest.mark.parametrize("frame_size", [512, 4096, 100_000])
@pytest.mark.parametrize("size", [0, 400, 448, 449, 512, 513, 5000, 300_000])
def test_messages_of_any_size_arrive_whole(frame_size, size):
    pair = Linked(server=Options("server", max_frame_size=frame_size))
    pair.give_credit(10)
    sent = [b"small", bytes(range(256)) * (size // 256) + bytes(size % 256), b"small again"]
    pair.sender.send(sent)
    pair.run()
    assert payloads(pair.server) == sent


def test_a_hundred_megabytes():
    pair = Linked(server=Options("server", max_frame_size=1 << 20))
    pair.give_credit(1)
    payload = bytes(1 << 20) * 100
    pair.sender.send([payload])
    pair.run()
    assert payloads(pair.server) == [payload]


def test_what_the_window_does_not_let_through_waits_and_goes_on():
    pair = Linked()
    pair.give_credit(1000)
    pair.session.outgoing.window = 3
    numbers = pair.sender.send([b"%d" % n for n in range(10)])
    assert pair.sender.pending == 7
    assert len(numbers) == 10
    later = pair.sender.send([b"10"])
    assert later == range(10, 11)
    pair.run()
    assert payloads(pair.server) == [b"0", b"1", b"2"]
    pair.receiver.flow(1000)
    pair.run()
    assert payloads(pair.server) == [b"%d" % n for n in range(11)]
    assert pair.sender.pending == 0
    pair.receiver.settle(0, 10, Accepted())
    pair.run()
    assert [(event.first, event.last) for event in pair.client.of(Settled)] == [(0, 10)]


def test_a_large_message_goes_through_a_small_window_piece_by_piece():
    pair = Linked(server=Options("server", max_frame_size=512))
    pair.give_credit(2)
    pair.session.outgoing.window = 2
    payload = bytes(range(250)) * 20
    pair.sender.send([payload])
    assert pair.sender.pending == 1
    pair.run()
    assert not payloads(pair.server)
    pair.receiver.session.write_flow()
    pair.run()
    assert payloads(pair.server) == [payload]


def test_what_waits_is_forgotten_with_its_link_and_numbers_stay_right():
    pair = Linked()
    other = pair.session.attach_sender("other", Target("q"))
    pair.run()
    pair.receiver.flow(100)
    second = pair.server.last(Attached).link
    second.flow(100)
    pair.run()
    pair.session.outgoing.window = 1
    pair.sender.send([b"a", b"b", b"c"])
    numbers = other.send([b"d", b"e"])
    pair.sender.detach()
    second.session.write_flow()
    pair.run()
    assert payloads(pair.server) == [b"a", b"d", b"e"]
    got = pair.server.of(Transfers)[-1].deliveries
    second.settle(got[0].number, got[-1].number, Accepted())
    pair.run()
    assert [(event.link, event.first, event.last) for event in pair.client.of(Settled)] == [
        (other, numbers[0], numbers[-1])
    ]
    other.settle(numbers[0], numbers[-1])


def test_a_drain_waits_for_what_waits():
    pair = Linked()
    pair.consumer.flow(10, drain=True)
    pair.run()
    pair.producer.session.outgoing.window = 0
    pair.producer.send([b"x", b"y"])
    pair.producer.drained()
    pair.run()
    assert pair.consumer.credit == 10
    pair.session.write_flow()
    pair.run()
    assert payloads(pair.client) == [b"x", b"y"]
    assert pair.consumer.credit == 0


def test_more_messages_than_a_window_has_frames_flow_without_a_stop():
    pair = Linked()
    count = WINDOW * 3
    pair.give_credit(count)
    for _ in range(3):
        pair.sender.send([b"x"] * WINDOW)
        pair.run()
    assert len(payloads(pair.server)) == count
    assert pair.sender.pending == 0


def test_acknowledgements_go_out_before_the_message_that_commits_them():
    pair = Linked()
    pair.give_credit(10)
    pair.producer.send([b"x"])
    pair.run()
    pair.consumer.settle(0, 0, TransactionalState(b"t", Accepted()))
    pair.sender.send([b"commit"])
    pair.run()
    assert [type(event) for event in pair.server.events[-2:]] == [Settled, Transfers]


def test_numbers_go_on_where_identifiers_wrap():
    pair = Linked()
    pair.give_credit(1000)
    start = (1 << 32) - 5
    for session in (pair.session, pair.producer.session):
        session.outgoing.next_delivery = session.outgoing.next_number = start
        session.outgoing.next_transfer = start
        session.next_delivery = start
        session.next_incoming = start
    numbers = pair.sender.send([b"%d" % n for n in range(10)])
    assert numbers == range(start, start + 10)
    single = [pair.sender.send([b"more"])[0] for _ in range(3)]
    pair.run()
    got = [one for event in pair.server.of(Transfers) for one in event.deliveries]
    assert [one.number for one in got] == [*numbers, *single]
    pair.receiver.settle(start, single[-1], Accepted())
    pair.receiver.flow(5)
    pair.run()
    assert [(event.first, event.last) for event in pair.client.of(Settled)] == [(start, single[-1])]
    assert pair.sender.credit == 5
    assert pair.session.outgoing.window == WINDOW


def test_delivery_counts_wrap():
    pair = Linked()
    pair.producer.delivery_count = pair.consumer.delivery_count = (1 << 32) - 2
    pair.consumer.flow(5)
    pair.run()
    assert pair.producer.credit == 5
    pair.producer.send([b"x"] * 4)
    pair.run()
    pair.consumer.flow(5, drain=True)
    pair.run()
    pair.producer.drained()
    pair.run()
    assert pair.consumer.credit == 0
    assert pair.consumer.delivery_count == pair.producer.delivery_count == 7


@pytest.mark.parametrize("call", ["send", "drained", "offer", "settle", "flow", "settle_receiver"])
def test_calls_on_a_link_that_the_peer_has_left_do_nothing(call):
    pair = Linked()
    pair.give_credit(5)
    pair.server.answers[Detached] = lambda _: None
    pair.sender.detach()
    pair.consumer.detach()
    pair.run()
    {
        "send": lambda: pair.producer.send([b"x"] * 100),
        "drained": pair.producer.drained,
        "offer": lambda: pair.producer.offer(1),
        "settle": lambda: pair.producer.settle(0, 5, Accepted()),
        "flow": lambda: pair.receiver.flow(5),
        "settle_receiver": lambda: pair.receiver.settle(0, 5, Accepted()),
    }[call]()
    assert pair.server.take_output() == b""
