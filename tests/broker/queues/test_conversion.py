"""Spans become runs of AMQP messages, and messages that look alike become spans."""

from heliograph.amqp.messages.message import Data, Message, Value, decode_message, encode_message
from heliograph.broker.core.span import Span
from heliograph.broker.queues.conversion import amqp_messages, spans_of

NOW, WALL = 1000.0, 1_700_000_000_000


def test_a_run_becomes_as_many_messages_that_differ_in_their_payloads_only():
    packet = b"\x32\x09\x00\x01t\x00\x00\x00x%d"
    span = Span(b"t", b"".join(packet % n for n in range(8)), 8, head=8, qos=1, id_at=5, version5=True)
    found = [decode_message(encoded) for encoded in amqp_messages(span, NOW, WALL)]
    assert [one.body for one in found] == [Data(b"x%d" % n) for n in range(8)]
    assert {one.to for one in found} == {"topic://t"}


def test_messages_in_a_row_that_differ_in_payloads_of_one_length_are_one_span():
    encoded = [encode_message(Message(durable=True, subject="s", body=Data(b"m%d" % n))) for n in range(5)]
    ((_, span),) = spans_of(b"a", encoded, NOW, WALL)
    assert span.payloads(0, 5) == [b"m%d" % n for n in range(5)]


def test_others_are_spans_of_their_own_and_stay_in_order():
    bodies = [Data(b"a"), Data(b"bb"), Value("cc"), Data(b""), Data(b""), Data(b"dd")]
    spans = spans_of(b"a", [encode_message(Message(body=body)) for body in bodies], NOW, WALL)
    assert [first for first, _ in spans] == list(range(6))
    assert [span.payloads(0, span.count) for _, span in spans] == [[b"a"], [b"bb"], [b"cc"], [b""], [b""], [b"dd"]]
