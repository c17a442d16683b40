"""Connections from open to close: what each side says, errors that close, idle time-outs."""

from math import inf

import pytest

from amqp.pair import Linked, Pair
from amqp.raw import Raw, attach_sender, begun, opened
from heliograph.amqp import (
    Attached,
    Begun,
    Closed,
    Credentials,
    Error,
    Opened,
    Options,
    Target,
)
from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.codec.frames import EMPTY_FRAME, amqp_frame
from heliograph.amqp.codec.performatives import (
    Begin,
    Close,
    End,
    Flow,
    Open,
    SaslInit,
    Transfer,
)
from heliograph.amqp.codec.values import Described, ULong


def idle_pair(client=0, server=0):
    pair = Pair(
        Options("client", idle_timeout=client, credentials=Credentials("ANONYMOUS")),
        Options("server", idle_timeout=server),
    )
    pair.client.connection.open()
    pair.run()
    return pair


def test_without_time_outs_there_is_nothing_to_do():
    pair = idle_pair()
    assert pair.client.connection.tick(5.0) == ([], inf)
    assert pair.client.take_output() == b""


def test_an_empty_frame_goes_out_often_enough():
    pair = idle_pair(server=10_000)
    events, due = pair.client.connection.tick(100.0)
    assert (events, due) == ([], 102.5)
    assert pair.client.take_output() == EMPTY_FRAME
    assert pair.client.connection.tick(101.0) == ([], 102.5)
    assert pair.client.take_output() == b""
    assert pair.client.connection.tick(102.5) == ([], 105.0)
    assert pair.client.take_output() == EMPTY_FRAME


def test_a_silent_peer_is_closed():
    pair = idle_pair(server=10_000)
    server = pair.server.connection
    server.receive(EMPTY_FRAME, 100.0)
    assert server.tick(105.0) == ([], 110.0)
    server.receive(EMPTY_FRAME, 109.0)
    assert server.tick(110.0) == ([], 119.0)
    ((closed,), due) = server.tick(119.0)
    assert isinstance(closed, Closed)
    assert closed.error.condition == "amqp:resource-limit-exceeded"
    assert due == inf
    pair.run()
    assert pair.client.last(Closed).error == closed.error
    assert server.tick(200.0) == ([], inf)


def test_a_peer_that_never_says_a_word_is_closed():
    pair = Pair(server=Options("server", idle_timeout=1000))
    server = pair.server.connection
    assert server.tick(50.0) == ([], 51.0)
    ((closed,), _) = server.tick(51.0)
    assert isinstance(closed, Closed)


def test_time_outs_both_ways_give_the_nearer_time():
    pair = idle_pair(client=4_000, server=100_000)
    client = pair.client.connection
    client.receive(EMPTY_FRAME, 10.0)
    assert client.tick(10.0)[1] == 14.0


def test_a_time_out_of_a_raw_peer_is_kept_to():
    raw = opened(idle_time_out=2000)
    assert raw.side.connection.tick(1.0) == ([], 2.0)


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


@pytest.mark.parametrize(
    ("frame", "condition"),
    [
        (b"\x00\x00\x00\x07\x02\x00\x00\x00", "amqp:connection:framing-error"),
        (b"\x00\x00\x00\x00\x02\x00\x00\x00", "amqp:connection:framing-error"),
        (b"\xff\xff\xff\xff\x02\x00\x00\x00", "amqp:connection:framing-error"),
        (b"\x00\x00\x00\x08\x01\x00\x00\x00", "amqp:connection:framing-error"),
        (b"\x00\x00\x00\x08\x03\x00\x00\x00", "amqp:connection:framing-error"),
        (b"\x00\x00\x00\x08\x02\x01\x00\x00", "amqp:connection:framing-error"),
        (b"\x00\x00\x00\x08\x02\x07\x00\x00", "amqp:connection:framing-error"),
        (amqp_frame(0, b"\x01"), "amqp:decode-error"),
        (amqp_frame(0, b"\x00\x53\x11\xc0\xff"), "amqp:decode-error"),
        (amqp_frame(0, b"\x00\x53\x11\xa1\x01\xff"), "amqp:decode-error"),
        (amqp_frame(0, encode(Described(ULong(0x11), []))), "amqp:invalid-field"),
        (amqp_frame(0, encode(Described(ULong(0x11), [None, "zero"]))), "amqp:invalid-field"),
        (amqp_frame(0, Begin(7, 0, 1, 1).encoded()), "amqp:invalid-field"),
        (amqp_frame(0, Open("again").encoded()), "amqp:illegal-state"),
        (amqp_frame(0, End().encoded()), "amqp:illegal-state"),
        (amqp_frame(9, Flow(0, 1, 0, 1).encoded()), "amqp:illegal-state"),
        (amqp_frame(256, Begin(None, 0, 1, 1).encoded()), "amqp:connection:framing-error"),
    ],
)
def test_frames_that_cannot_be_close_the_connection(frame, condition):
    raw = opened()
    raw.feed(frame)
    assert raw.closed() == condition
    raw.feed(frame)
    assert len(raw.side.of(Closed)) == 1


@pytest.mark.parametrize(
    "body", [b"\x40", encode(Described(ULong(0x99), [])), SaslInit("PLAIN").encoded(), encode("x")]
)
def test_frames_that_are_no_performative_close_the_connection(body):
    raw = begun()
    raw.feed(amqp_frame(0, body))
    assert raw.closed() == "amqp:not-implemented"


def test_an_error_before_our_open_is_told_with_open_and_close():
    raw = Raw()
    raw.feed(amqp_frame(0, Begin(None, 0, 1, 1).encoded()))
    assert [type(frame) for _, frame, _ in raw.got] == [Open, Close]
    assert raw.closed() == "amqp:illegal-state"


def test_a_frame_size_below_the_least_is_an_invalid_field():
    raw = opened(max_frame_size=511)
    assert raw.closed() == "amqp:invalid-field"


def test_a_close_with_a_wrong_error_is_still_answered():
    raw = opened()
    raw.feed(amqp_frame(0, encode(Described(ULong(0x18), ["oops"]))))
    assert raw.closed() == "amqp:invalid-field"


def test_after_our_close_everything_but_the_answer_is_ignored():
    raw = begun()
    raw.side.connection.close()
    raw.send(attach_sender())
    raw.send(Transfer(5))
    assert not raw.side.of(Attached)
    raw.send(Close())
    assert raw.side.of(Closed) == [Closed(None)]


def test_empty_frames_are_nothing():
    raw = begun()
    raw.feed(EMPTY_FRAME * 3)
    assert [type(event).__name__ for event in raw.side.events] == ["Opened", "Begun"]


def test_an_extended_frame_header_is_skipped():
    raw = opened()
    body = Begin(None, 0, 1, 1).encoded()
    raw.feed((16 + len(body)).to_bytes(4, "big") + b"\x04\x00\x00\x00" + b"whatever" + body)
    assert raw.side.of(Begun)


def test_frames_larger_than_ours_may_be():
    raw = Raw(Options("server", mechanisms=(), max_frame_size=600))
    raw.send(Open("raw"))
    raw.feed(amqp_frame(0, bytes(600)))
    assert raw.closed() == "amqp:connection:framing-error"
