"""Peers that break the rules: each gets the error that the standard has for it, and nothing else breaks."""

import pytest

from amqp.raw import Raw, attach_receiver, attach_sender, begun, opened, receiving, sending
from heliograph.amqp import Accepted, Attached, Begun, Closed, Detached, Ended, Flowed, Options, Settled, Transfers
from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.codec.frames import EMPTY_FRAME, amqp_frame
from heliograph.amqp.codec.performatives import (
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Flow,
    Open,
    SaslInit,
    Source,
    Target,
    Transfer,
)
from heliograph.amqp.codec.values import Described, ULong
from heliograph.amqp.engine.receiver import LONGEST_TAG, MOST_UNFINISHED
from heliograph.amqp.engine.session import WINDOW


def payloads(raw):
    return [one.payload for event in raw.side.of(Transfers) for one in event.deliveries]


# The whole connection.


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


# A session.


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
    assert payloads(raw) == [b"x", b"y"]
    raw.send(Transfer(0, 7, b"c"))
    assert raw.ended() == "amqp:invalid-field"


def test_a_delivery_that_begins_before_the_last_one_ended():
    raw, _ = sending()
    raw.send(Transfer(0, 0, b"a", more=True))
    raw.send(Transfer(0, 1, b"b"))
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


# A link.


def test_a_transfer_without_credit():
    raw, link = sending(credit=2)
    raw.send(*[Transfer(0, n, b"%d" % n) for n in range(3)], payload=b"x")
    assert payloads(raw) == [b"x", b"x"]
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
    assert payloads(raw) == [bytes(1000)]
    for piece in range(pieces):
        raw.send(Transfer(0, 1, b"b", more=piece < pieces - 1), payload=bytes(1001 // pieces + 1))
    assert raw.detached() == "amqp:link:message-size-exceeded"
    assert raw.side.connection.unfinished == 0
    assert len(payloads(raw)) == 1
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
    assert payloads(raw) == [b"kept"]
    assert link.credit == 8


def test_a_resumed_delivery_that_we_do_not_know_is_ignored():
    raw, _ = sending()
    raw.send(Transfer(0, 0, b"a", resume=True), payload=b"old")
    raw.send(Transfer(0, 1, b"b"), payload=b"new")
    assert payloads(raw) == [b"new"]


def test_pieces_of_deliveries_on_different_links_may_be_mixed():
    raw, _ = sending()
    raw.send(attach_sender("other", 1))
    raw.side.last(Attached).link.flow(5)
    raw.send(Transfer(0, 0, b"a", more=True), payload=b"a1")
    raw.send(Transfer(1, 1, b"b", more=True), payload=b"b1")
    raw.send(Transfer(0), payload=b"a2")
    raw.send(Transfer(1), payload=b"b2")
    assert payloads(raw) == [b"a1a2", b"b1b2"]


def test_a_million_tiny_pieces_cost_what_they_carry():
    raw, link = sending()
    for n in range(5000):
        raw.send(Transfer(0, 0, b"a", more=True), payload=b"x" if n else b"")
    assert link.unfinished.size == 4999
    payload = link.unfinished._payload
    assert len(payload._pieces) + len(payload._chunks) < 1100
    raw.send(Transfer(0))
    assert payloads(raw) == [b"x" * 4999]


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


@pytest.mark.parametrize(("first", "last"), [(0, 0xFFFFFFFF), (5, 3), (100, 200), (0xFFFFFFF0, 0xFFFFFFFF)])
def test_dispositions_for_what_was_never_sent_settle_nothing_more(first, last):
    raw, link = receiving()
    raw.send(Flow(0, 1000, 0, 1000, handle=0, delivery_count=0, link_credit=10))
    link.send([b"x"] * 2)
    raw.send(Disposition(True, first, last, True, Accepted()))
    raw.send(Disposition(False, first, last, True, Accepted()))
    for event in raw.side.of(Settled):
        assert 0 <= event.first <= event.last <= 1
    raw.send(Disposition(True, 0, 1, True, Accepted()))
    assert not raw.of(End)
    assert not len(link.session.outgoing_unsettled)


def test_a_flow_that_is_older_than_what_was_sent_gives_the_rest():
    raw, link = receiving()
    raw.send(Flow(0, 1000, 0, 1000, handle=0, delivery_count=0, link_credit=10))
    link.send([b"x"] * 8)
    raw.send(Flow(0, 1000, 0, 1000, handle=0, delivery_count=0, link_credit=5))
    assert link.credit == 0
    raw.send(Flow(0, 1000, 0, 1000, handle=0, delivery_count=2, link_credit=10))
    assert link.credit == 4
    assert link.session.outgoing.window == 992


def test_a_flow_from_a_sender_that_takes_more_credit_than_there_was_changes_nothing():
    raw, link = sending(credit=5)
    raw.send(Flow(0, 1, 0, 1, handle=0, delivery_count=77, link_credit=0, available=3))
    assert (link.credit, link.available) == (5, 3)
    assert raw.side.last(Flowed).link is link


def test_windows_and_credit_of_any_size_are_taken():
    raw, link = receiving()
    raw.send(Flow(0, 0xFFFFFFFF, 0, 1000, handle=0, delivery_count=0, link_credit=0xFFFFFFFF))
    assert link.credit == 0xFFFFFFFF
    link.send([b"x"] * 10)
    raw.send(Flow(5, 0xFFFFFFFF, 0, 1000, handle=0, delivery_count=5, link_credit=0xFFFFFFFF))
    assert link.credit == link.session.outgoing.window == 0xFFFFFFFF - 5


def test_unsettled_state_of_an_earlier_link_is_answered_with_an_empty_map():
    raw = begun()
    raw.send(attach_sender(unsettled={b"t": None}, incomplete_unsettled=True))
    (answer,) = raw.of(Attach)
    assert answer.unsettled == {}
    assert answer.incomplete_unsettled is False
    raw.send(attach_receiver(handle=1))
    assert raw.of(Attach)[1].unsettled is None


def test_a_link_name_attached_again_is_stolen():
    raw, link = sending()
    raw.send(attach_sender(handle=1))
    assert raw.detached() == "amqp:link:stolen"
    (again,) = [event.link for event in raw.side.of(Attached) if event.link is not link]
    again.flow(1)
    raw.send(Detach(0), Transfer(1, 0, b"t"), payload=b"x")
    assert raw.side.last(Transfers).link is again
    assert len(raw.side.of(Detached)) == 1


def test_an_attach_with_a_terminus_of_another_kind_closes_the_connection():
    raw = begun()
    broken = Described(ULong(0x12), ["n", encode(0), False])
    raw.feed(amqp_frame(0, encode(broken)))
    assert raw.closed() == "amqp:invalid-field"


def test_the_sender_may_settle_first():
    raw, link = sending()
    raw.send(*[Transfer(0, n, b"%d" % n) for n in range(3)])
    raw.send(Disposition(False, 0, 2, True, None))
    assert raw.side.of(Settled) == [Settled(link, 0, 2, None, True)]
    link.settle(0, 2, Accepted())
    raw.look()
    assert not raw.of(End)


def test_a_source_with_an_address_that_is_no_text_is_passed_on():
    raw = begun()
    raw.send(Attach("n", 0, True, source=Source(address=5), target=Target()))  # type: ignore[arg-type]
    assert raw.side.last(Attached).link.source.address == 5
