"""Idle time-outs, both ways."""

from math import inf

from amqp.pair import Pair
from amqp.raw import opened
from heliograph.amqp import Closed, Credentials, Options
from heliograph.amqp.codec.frames import EMPTY_FRAME


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
