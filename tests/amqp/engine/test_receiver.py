"""Our end of a link that receives: whole messages, pieces, limits."""

import pytest

from amqp.pair import Linked, Pair
from amqp.raw import attach_sender, begun, sending
from heliograph.amqp import (
    Accepted,
    Attached,
    Detached,
    Flowed,
    Receiver,
    Settled,
    Target,
    Transfers,
)
from heliograph.amqp.codec.performatives import (
    Attach,
    Detach,
    Flow,
    ReceiverSettleMode,
    Transfer,
)
from heliograph.amqp.engine.receiver import MOST_UNFINISHED


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


def test_presettled_messages_leave_nothing_behind():
    pair = Linked()
    pair.give_credit(10)
    pair.sender.send([b"x"] * 10, settled=True)
    pair.run()
    assert all(one.settled for one in pair.server.last(Transfers).deliveries)
    assert not len(pair.session.outgoing_unsettled)
    assert not len(pair.receiver.session.incoming)


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


def test_an_echo_is_answered():
    pair = Linked()
    pair.consumer.flow(10, echo=True)
    pair.run()
    assert pair.client.of(Flowed) == [Flowed(pair.consumer)]


def test_credit_is_what_may_be_sent_from_now_on_whatever_is_on_the_way():
    pair = Linked()
    pair.give_credit(10)
    pair.consumer.flow(10)
    pair.producer.send([b"x"] * 4)
    pair.run()
    assert pair.producer.credit == 6
    assert pair.consumer.credit == 6


def test_a_delivery_that_begins_before_the_last_one_ended():
    raw, _ = sending()
    raw.send(Transfer(0, 0, b"a", more=True))
    raw.send(Transfer(0, 1, b"b"))
    assert raw.ended() == "amqp:invalid-field"


def test_a_transfer_without_credit():
    raw, link = sending(credit=2)
    raw.send(*[Transfer(0, n, b"%d" % n) for n in range(3)], payload=b"x")
    assert raw.side.payloads() == [b"x", b"x"]
    assert raw.detached() == "amqp:link:transfer-limit-exceeded"
    assert raw.side.last(Detached).error.condition == "amqp:link:transfer-limit-exceeded"
    raw.send(Transfer(0, 3, b"3"))
    raw.send(Detach(0, True))
    assert len(raw.side.of(Detached)) == 1
    assert link.gone
    raw.send(attach_sender())
    assert len(raw.side.of(Attached)) == 2


def test_a_transfer_before_the_link_was_accepted():
    raw = begun()
    raw.side.answers[Attached] = lambda _: None
    raw.send(attach_sender(), Transfer(0, 0, b"t"))
    assert raw.detached() == "amqp:link:transfer-limit-exceeded"


@pytest.mark.parametrize("pieces", [1, 3])
def test_a_message_larger_than_the_link_takes(pieces):
    raw = begun()
    raw.side.answers[Attached] = lambda event: event.link.accept(max_message_size=1000)
    raw.send(attach_sender())
    link = raw.side.last(Attached).link
    assert raw.of(Attach)[0].max_message_size == 1000
    link.flow(10)
    raw.send(Transfer(0, 0, b"a"), payload=bytes(1000))
    assert raw.side.payloads() == [bytes(1000)]
    for piece in range(pieces):
        raw.send(Transfer(0, 1, b"b", more=piece < pieces - 1), payload=bytes(1001 // pieces + 1))
    assert raw.detached() == "amqp:link:message-size-exceeded"
    assert raw.side.connection.unfinished == 0
    assert len(raw.side.payloads()) == 1
    assert link.unfinished is None


def test_messages_that_do_not_end_are_bounded_for_the_connection_as_a_whole():
    raw = begun()
    raw.side.answers[Attached] = lambda event: event.link.accept(max_message_size=MOST_UNFINISHED // 2)
    handles = range(4)
    for handle in handles:
        raw.send(attach_sender(f"to-{handle}", handle))
        raw.side.last(Attached).link.flow(10)
    quarter = bytes(1 << 14)
    for handle in handles:
        for number in range(MOST_UNFINISHED // len(handles) // len(quarter)):
            first = number == 0
            raw.send(Transfer(handle, handle if first else None, b"t" if first else None, more=True), payload=quarter)
    assert not raw.of(Detach)
    raw.send(Transfer(0, more=True), payload=b"x")
    assert raw.detached() == "amqp:resource-limit-exceeded"
    assert raw.side.connection.unfinished == MOST_UNFINISHED // len(handles) * 3
    raw.send(Transfer(1, aborted=True), Transfer(2), Detach(3, True))
    assert raw.side.connection.unfinished == 0


def test_an_aborted_delivery_does_not_arrive():
    raw, link = sending()
    raw.send(Transfer(0, 0, b"a", more=True), payload=b"lost")
    raw.send(Transfer(0, aborted=True))
    raw.send(Transfer(0, 1, b"b"), payload=b"kept")
    assert raw.side.payloads() == [b"kept"]
    assert link.credit == 8


def test_a_resumed_delivery_that_we_do_not_know_is_ignored():
    raw, _ = sending()
    raw.send(Transfer(0, 0, b"a", resume=True), payload=b"old")
    raw.send(Transfer(0, 1, b"b"), payload=b"new")
    assert raw.side.payloads() == [b"new"]


def test_pieces_of_deliveries_on_different_links_may_be_mixed():
    raw, _ = sending()
    raw.send(attach_sender("other", 1))
    raw.side.last(Attached).link.flow(5)
    raw.send(Transfer(0, 0, b"a", more=True), payload=b"a1")
    raw.send(Transfer(1, 1, b"b", more=True), payload=b"b1")
    raw.send(Transfer(0), payload=b"a2")
    raw.send(Transfer(1), payload=b"b2")
    assert raw.side.payloads() == [b"a1a2", b"b1b2"]


def test_a_million_tiny_pieces_cost_what_they_carry():
    raw, link = sending()
    for n in range(5000):
        raw.send(Transfer(0, 0, b"a", more=True), payload=b"x" if n else b"")
    assert link.unfinished.size == 4999
    payload = link.unfinished._payload
    assert len(payload._pieces) + len(payload._chunks) < 1100
    raw.send(Transfer(0))
    assert raw.side.payloads() == [b"x" * 4999]


def test_settled_in_a_later_piece_counts():
    raw, _ = sending()
    raw.send(Transfer(0, 0, b"a", more=True), payload=b"1")
    raw.send(Transfer(0, settled=True, state=Accepted()), payload=b"2")
    (one,) = raw.side.last(Transfers).deliveries
    assert (one.payload, one.settled, one.state) == (b"12", True, Accepted())


def test_a_peer_that_goes_on_sending_on_a_detached_link_is_errant(monkeypatch):
    monkeypatch.setattr("heliograph.amqp.engine.receiver._MOST_DISCARDED", 3)
    raw, link = sending()
    link.detach()
    for n in range(4):
        raw.send(Transfer(0, n, b"%d" % n))
    assert raw.ended() == "amqp:session:errant-link"


def test_a_flow_from_a_sender_that_takes_more_credit_than_there_was_changes_nothing():
    raw, link = sending(credit=5)
    raw.send(Flow(0, 1, 0, 1, handle=0, delivery_count=77, link_credit=0, available=3))
    assert (link.credit, link.available) == (5, 3)
    assert raw.side.last(Flowed).link is link
