"""Transfers on their way out: sizes, windows, and what waits."""

import pytest

from amqp.pair import Linked
from heliograph.amqp import (
    Accepted,
    Attached,
    Options,
    Settled,
    Target,
    Transfers,
)
from heliograph.amqp.engine.session import WINDOW


@pytest.mark.parametrize("frame_size", [512, 4096, 100_000])
@pytest.mark.parametrize("size", [0, 400, 448, 449, 512, 513, 5000, 300_000])
def test_messages_of_any_size_arrive_whole(frame_size, size):
    pair = Linked(server=Options("server", max_frame_size=frame_size))
    pair.give_credit(10)
    sent = [b"small", bytes(range(256)) * (size // 256) + bytes(size % 256), b"small again"]
    pair.sender.send(sent)
    pair.run()
    assert pair.server.payloads() == sent


def test_a_hundred_megabytes():
    pair = Linked(server=Options("server", max_frame_size=1 << 20))
    pair.give_credit(1)
    payload = bytes(1 << 20) * 100
    pair.sender.send([payload])
    pair.run()
    assert pair.server.payloads() == [payload]


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
    assert pair.server.payloads() == [b"0", b"1", b"2"]
    pair.receiver.flow(1000)
    pair.run()
    assert pair.server.payloads() == [b"%d" % n for n in range(11)]
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
    assert not pair.server.payloads()
    pair.receiver.session.write_flow()
    pair.run()
    assert pair.server.payloads() == [payload]


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
    assert pair.server.payloads() == [b"a", b"d", b"e"]
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
    assert pair.client.payloads() == [b"x", b"y"]
    assert pair.consumer.credit == 0


def test_more_messages_than_a_window_has_frames_flow_without_a_stop():
    pair = Linked()
    count = WINDOW * 3
    pair.give_credit(count)
    for _ in range(3):
        pair.sender.send([b"x"] * WINDOW)
        pair.run()
    assert len(pair.server.payloads()) == count
    assert pair.sender.pending == 0
