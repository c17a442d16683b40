"""Sessions: windows, ids, handles, limits, and frames that end them."""

import pytest

from amqp.pair import Linked, Pair
from amqp.raw import attach_sender, begun, opened, receiving, sending
from heliograph.amqp import (
    Accepted,
    Attached,
    Begun,
    Ended,
    Error,
    Options,
    Settled,
    Target,
    Transfers,
)
from heliograph.amqp.codec.performatives import (
    Begin,
    Detach,
    End,
    Flow,
    Transfer,
)
from heliograph.amqp.engine.receiver import LONGEST_TAG
from heliograph.amqp.engine.session import WINDOW
from heliograph.errors import Problem


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
    assert sorted(pair.server.payloads()) == sorted(link.name.encode() for link in links)
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


def test_two_sessions_on_one_channel():
    raw = begun()
    raw.send(Begin(None, 0, 1, 1))
    assert raw.closed() == "amqp:illegal-state"


def test_more_sessions_than_the_peer_itself_allows():
    raw = opened(channel_max=0)
    raw.send(Begin(None, 0, 1, 1))
    raw.send(Begin(None, 0, 1, 1), channel=1)
    assert raw.closed() == "amqp:resource-limit-exceeded"


def test_a_handle_beyond_the_highest():
    raw = begun()
    raw.send(attach_sender(handle=1024))
    assert raw.closed() == "amqp:connection:framing-error"


@pytest.mark.parametrize(
    ("frame", "condition"),
    [
        (Transfer(5, 0, b"t"), "amqp:session:unattached-handle"),
        (Flow(0, 1, 0, 1, handle=5), "amqp:session:unattached-handle"),
        (Detach(5), "amqp:session:unattached-handle"),
        (attach_sender("other", 0), "amqp:session:handle-in-use"),
        (Transfer(0, None, b"t"), "amqp:invalid-field"),
        (Transfer(0, 0, None), "amqp:invalid-field"),
        (Transfer(0, 0, bytes(LONGEST_TAG + 1)), "amqp:invalid-field"),
    ],
)
def test_a_frame_that_cannot_be_in_a_session_ends_it(frame, condition):
    raw, link = sending()
    raw.send(frame)
    assert raw.ended() == condition
    assert raw.side.last(Ended).error.condition == condition
    assert link.gone
    raw.send(Transfer(0, 0, b"t"))
    raw.send(End())
    raw.send(Begin(None, 0, 1, 1))
    assert len(raw.side.of(Begun)) == 2
    assert len(raw.side.of(Ended)) == 1


def test_a_transfer_to_our_sender():
    raw, _ = receiving()
    raw.send(Transfer(0, 0, b"t"))
    assert raw.ended() == "amqp:not-allowed"


def test_delivery_ids_that_go_back():
    raw, _ = sending()
    raw.send(Transfer(0, 5, b"a"), payload=b"x")
    raw.send(Transfer(0, 7, b"b"), payload=b"y")
    assert raw.side.payloads() == [b"x", b"y"]
    raw.send(Transfer(0, 7, b"c"))
    assert raw.ended() == "amqp:invalid-field"


def test_more_frames_than_the_window_has():
    raw, link = sending(credit=1)
    link.session.incoming_window = 1
    raw.send(Transfer(0, 0, b"a", more=True))
    link.session.incoming_window = 0
    raw.send(Transfer(0, more=True))
    assert raw.ended() == "amqp:session:window-violation"


def test_the_window_is_opened_again_in_good_time():
    raw, _ = sending(credit=1)
    raw.got.clear()
    for _ in range(2 * WINDOW // 100):
        raw.send(*[Transfer(0, 0, b"a", more=True)] * 100)
    assert not raw.of(End)
    flows = raw.of(Flow)
    assert len(flows) == 3
    assert all(flow.incoming_window == WINDOW for flow in flows)
    assert flows[-1].next_incoming_id % 100 <= 100


def test_an_echo_for_a_session_is_answered():
    raw = begun()
    raw.send(Flow(0, 1, 0, 1, echo=True))
    (flow,) = raw.of(Flow)
    assert flow.handle is None


def test_more_links_than_the_peer_itself_allows():
    raw = opened()
    raw.send(Begin(None, 0, 1, 1, handle_max=0))
    raw.send(attach_sender("a", 0))
    raw.send(attach_sender("b", 1))
    assert raw.ended() == "amqp:resource-limit-exceeded"
