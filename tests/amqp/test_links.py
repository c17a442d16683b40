"""Sessions and links between two engines: what each side sees when nobody breaks the rules."""

import pytest

from amqp.pair import Linked, Pair
from heliograph.amqp import (
    Accepted,
    Attached,
    Begun,
    Closed,
    Coordinator,
    Credentials,
    Detached,
    Ended,
    Error,
    Flowed,
    Modified,
    Opened,
    Options,
    Receiver,
    Rejected,
    Released,
    Sender,
    Settled,
    Source,
    Target,
    TransactionalState,
    Transfers,
)
from heliograph.amqp.performatives import Disposition, Durability, ReceiverSettleMode, SenderSettleMode
from heliograph.amqp.session import WINDOW
from heliograph.amqp.types import Described, ULong
from heliograph.errors import Problem

OUTCOMES = [
    Accepted(),
    Released(),
    Rejected(Error("amqp:not-allowed", "x" * 300)),
    Modified(True, True, {"x-opt-why": "because"}),
    TransactionalState(b"t1", Accepted()),
]


def payloads(side):
    return [one.payload for event in side.of(Transfers) for one in event.deliveries]


def test_open_carries_what_each_side_says_of_itself():
    pair = Pair(
        Options(
            "client",
            hostname="vhost",
            desired_capabilities=("a", "b"),
            properties={"product": "x"},
            credentials=Credentials("ANONYMOUS"),
        ),
        Options("server", offered_capabilities=("a",), max_frame_size=4096, channel_max=3, idle_timeout=10_000),
    )
    pair.client.connection.open()
    pair.run()
    seen = pair.server.last(Opened).open
    assert (seen.hostname, seen.desired_capabilities, seen.properties) == ("vhost", ("a", "b"), {"product": "x"})
    answer = pair.client.last(Opened).open
    assert (answer.offered_capabilities, answer.max_frame_size, answer.channel_max) == (("a",), 4096, 3)
    assert answer.idle_time_out == 5000


def test_a_server_may_answer_an_open_with_properties_of_its_own():
    pair = Pair()
    pair.server.answers[Opened] = lambda _: pair.server.connection.open(
        properties={"k": 1}, offered_capabilities=("z",)
    )
    pair.client.connection.open()
    pair.run()
    answer = pair.client.last(Opened).open
    assert (answer.properties, answer.offered_capabilities) == ({"k": 1}, ("z",))


def test_a_server_may_answer_an_open_late_and_everything_else_waits_for_it():
    pair = Pair()
    pair.server.answers[Opened] = lambda _: None
    pair.client.connection.open()
    pair.client.connection.begin().attach_sender("to", Target("q"))
    pair.run()
    assert not pair.client.events
    pair.server.connection.open()
    pair.run()
    assert [type(event) for event in pair.client.events] == [Opened, Begun, Attached]


def test_a_refused_connection_is_opened_with_a_hint_and_closed():
    pair = Pair()
    redirect = Error("amqp:connection:redirect", None, {"network-host": "elsewhere", "port": 5672})
    pair.server.answers[Opened] = lambda _: pair.server.connection.close(redirect)
    pair.client.connection.open()
    pair.client.connection.begin()
    pair.run()
    assert pair.client.last(Opened).open.properties == {"amqp:connection-establishment-failed": True}
    assert pair.client.last(Closed).error == redirect
    assert pair.server.of(Closed) == [Closed(None)]


def test_closing_is_answered_and_ends_everything():
    pair = Linked()
    pair.client.connection.close(Error("amqp:connection:forced", "bye"))
    pair.run()
    assert pair.server.last(Closed).error == Error("amqp:connection:forced", "bye")
    assert pair.client.last(Closed).error is None
    for link in (pair.sender, pair.receiver, pair.consumer, pair.producer):
        assert link.gone
    pair.sender.send([b"into the void"])
    pair.session.end()
    pair.sender.detach()
    assert not pair.client.take_output()


def test_many_sessions_and_links():
    pair = Pair()
    pair.client.connection.open()
    sessions = [pair.client.connection.begin() for _ in range(20)]
    links = [session.attach_sender(f"{n}-{k}", Target("q")) for n, session in enumerate(sessions) for k in range(10)]
    pair.run()
    theirs = [event.link for event in pair.server.of(Attached)]
    assert len(theirs) == len(links) == 200
    for link in theirs:
        link.flow(1)
    pair.run()
    for link in links:
        link.send([link.name.encode()])
    pair.run()
    assert sorted(payloads(pair.server)) == sorted(link.name.encode() for link in links)
    for event in pair.server.of(Transfers):
        assert event.deliveries[0].payload == event.link.name.encode()


def test_ended_sessions_give_their_channels_back():
    pair = Pair(server=Options("server", channel_max=1))
    pair.client.connection.open()
    pair.run()
    for _ in range(10):
        session = pair.client.connection.begin()
        session.attach_sender("to", Target("q"))
        pair.run()
        session.end(Error("x:y", "done"))
        pair.run()
        assert pair.client.last(Ended).session is session
        assert pair.server.last(Ended).error == Error("x:y", "done")
    assert not pair.server.connection.sessions
    assert not pair.server.connection.names


def test_a_client_cannot_begin_more_sessions_than_the_server_allows():
    pair = Pair(server=Options("server", channel_max=1))
    pair.client.connection.open()
    pair.run()
    pair.client.connection.begin()
    pair.client.connection.begin()
    with pytest.raises(Problem, match="2 sessions"):
        pair.client.connection.begin()


def test_a_client_cannot_attach_more_links_than_the_server_allows():
    pair = Pair(server=Options("server", handle_max=1))
    pair.client.connection.open()
    session = pair.client.connection.begin()
    pair.run()
    session.attach_sender("1", Target("q"))
    session.attach_sender("2", Target("q"))
    with pytest.raises(Problem, match="2 links"):
        session.attach_sender("3", Target("q"))


def test_attach_carries_termini_modes_properties_and_capabilities():
    pair = Pair()
    pair.server.answers[Attached] = lambda event: event.link.accept(
        source=Source("q", filter={"jms-selector": Described(ULong(4), "a = 1")}),
        properties={"answer": 42},
        offered_capabilities=("SHARED-SUBS",),
    )
    pair.client.connection.open()
    source = Source("q", Durability.UNSETTLED_STATE, "never", distribution_mode="copy", capabilities=("topic",))
    link = pair.client.connection.begin().attach_receiver(
        "sub",
        source,
        snd_settle_mode=SenderSettleMode.UNSETTLED,
        rcv_settle_mode=ReceiverSettleMode.SECOND,
        max_message_size=1000,
        properties={"question": "?"},
        desired_capabilities=("SHARED-SUBS",),
    )
    pair.run()
    theirs = pair.server.last(Attached).link
    assert isinstance(theirs, Sender)
    assert theirs.remote.source == source
    assert (theirs.snd_settle_mode, theirs.rcv_settle_mode) == (0, 1)
    assert (theirs.remote.max_message_size, theirs.properties) == (1000, {"question": "?"})
    assert theirs.remote.desired_capabilities == ("SHARED-SUBS",)
    assert link.source.filter == {"jms-selector": Described(ULong(4), "a = 1")}
    assert link.properties == {"answer": 42}
    assert link.remote.offered_capabilities == ("SHARED-SUBS",)


def test_a_dynamic_target_gets_its_address_in_the_answer():
    pair = Pair()
    pair.server.answers[Attached] = lambda event: event.link.accept(target=Target("temp-1", dynamic=True))
    pair.client.connection.open()
    link = pair.client.connection.begin().attach_sender("temp", Target(dynamic=True))
    pair.run()
    assert pair.server.last(Attached).link.remote.target.dynamic
    assert link.target.address == "temp-1"


def test_a_coordinator_is_a_target():
    pair = Pair()
    pair.client.connection.open()
    pair.client.connection.begin().attach_sender("txn", Coordinator(("amqp:local-transactions",)))
    pair.run()
    assert pair.server.last(Attached).link.target == Coordinator(("amqp:local-transactions",))


def test_a_refused_link_has_no_terminus_and_then_the_error():
    pair = Pair()
    error = Error("amqp:not-found", "no such queue")
    pair.server.answers[Attached] = lambda event: event.link.refuse(error)
    pair.client.connection.open()
    session = pair.client.connection.begin()
    sender = session.attach_sender("to", Target("q"))
    receiver = session.attach_receiver("from", Source("q"))
    pair.run()
    assert sender.target is None
    assert receiver.source is None
    assert pair.client.of(Detached) == [Detached(sender, True, error), Detached(receiver, True, error)]
    assert not session.links


def test_a_null_source_asks_what_is_behind_a_name():
    pair = Pair()
    pair.server.answers[Attached] = lambda event: event.link.accept(source=Source("stored"))
    pair.client.connection.open()
    link = pair.client.connection.begin().attach_receiver("sub", None)
    pair.run()
    assert pair.server.last(Attached).link.remote.source is None
    assert link.source == Source("stored")


def test_a_link_may_be_accepted_later_with_the_credit_that_came_meanwhile():
    pair = Pair()
    pair.server.answers[Attached] = lambda _: None
    pair.client.connection.open()
    pair.client.connection.begin().attach_receiver("from", Source("q")).flow(5)
    pair.run()
    link = pair.server.last(Attached).link
    assert (link.credit, link.accepted) == (5, False)
    link.accept()
    link.send([b"a"])
    pair.run()
    assert payloads(pair.client) == [b"a"]


def test_a_link_that_is_left_before_it_was_accepted_is_gone():
    pair = Pair()
    pair.server.answers[Attached] = lambda _: None
    pair.client.connection.open()
    session = pair.client.connection.begin()
    link = session.attach_receiver("from", Source("q"))
    link.detach()
    pair.run()
    theirs = pair.server.last(Detached).link
    assert theirs.gone
    theirs.accept()
    pair.run()
    assert [type(event) for event in pair.client.events] == [Opened, Begun, Detached]
    session.attach_receiver("from", Source("q"))
    pair.run()
    assert len(pair.server.of(Attached)) == 2


@pytest.mark.parametrize("closed", [True, False])
def test_detach_is_told_apart_from_close_and_the_link_may_come_back(closed):
    pair = Linked()
    for _ in range(5):
        pair.sender.detach(closed=closed)
        pair.run()
        assert pair.server.last(Detached).closed is closed
        assert pair.client.last(Detached).closed is closed
        pair.sender = pair.session.attach_sender("to", Target("q"))
        pair.run()
        assert pair.server.last(Attached).link.name == "to"
    assert len(pair.session.links) == 2
    assert pair.sender.handle == 0


def test_a_server_answers_a_detach_when_it_is_ready():
    pair = Linked()
    pair.server.answers[Detached] = lambda _: None
    pair.sender.detach()
    pair.run()
    assert not pair.client.of(Detached)
    pair.receiver.detach()
    pair.run()
    assert pair.client.of(Detached) == [Detached(pair.sender, True, None)]


def test_a_link_of_the_same_name_takes_the_place_of_the_old_one():
    pair = Linked()
    other = pair.client.connection.begin()
    del pair.client.connection.names["to", False]  # a client that forgot its link
    again = other.attach_sender("to", Target("q"))
    pair.run()
    stolen = Error("amqp:link:stolen", "the link 'to' was attached again")
    assert Detached(pair.receiver, False, stolen) in pair.server.events
    assert Detached(pair.sender, False, stolen) in pair.client.events
    assert pair.server.last(Attached).link.name == "to"
    assert again.remote is not None
    assert not again.gone
    assert len(pair.server.of(Detached)) == 1


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
