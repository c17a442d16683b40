"""Messages between Python and the wire."""

import contextlib
import uuid

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.amqp.messages.message import Data, Sequence, Value, decode_message, encode_message
from heliograph.amqp.messages.message import Message as AmqpMessage
from heliograph.amqp.messages.reading import decode_any, read_usual
from heliograph.amqp.values import Byte, Int, Symbol, ULong
from heliograph.client import Message, Queue, TemporaryQueue, Topic
from heliograph.client.core.message_encoding import decode_incoming, encode_outgoing
from heliograph.client.problems import IllegalState, MessageFormat

LONGS = st.integers(-(2**63), 2**63 - 1)
SIMPLE = st.none() | st.booleans() | LONGS | st.floats(allow_nan=False) | st.text() | st.binary() | st.uuids()
BODIES = SIMPLE | st.lists(SIMPLE, max_size=5) | st.dictionaries(st.text(), SIMPLE, max_size=5)
IDS = st.none() | st.text() | st.uuids() | st.binary() | st.integers(0, 2**64 - 1)
PLACES = st.none() | st.builds(Queue, st.text(min_size=1)) | st.builds(Topic, st.text(min_size=1))
# Up to the year 2200, in whole milliseconds as they travel.
TIMES = st.none() | st.integers(0, 7_258_118_400_000).map(lambda ms: ms / 1000)


class Origin:
    """Where received messages come from in these tests."""

    def unfold(self, payload, message):
        decode_incoming(payload, message, lambda address: address)

    def acknowledge(self, token):
        token.append("acknowledged")


def encoded(message: Message, ttl=None) -> bytes:
    message.destination = message.destination or Queue("there")
    name = message.destination.name
    return encode_outgoing(message, name, lambda place: place.name, message.persistent, message.priority, ttl)


def received(payload: bytes, again: int = 0) -> Message:
    return Message.received(payload, again, Origin(), [])


@given(
    st.builds(
        Message,
        BODIES,
        properties=st.dictionaries(st.text(), SIMPLE, max_size=3),
        type=st.none() | st.text(),
        correlation_id=IDS,
        reply_to=PLACES,
        group_id=st.none() | st.text(),
        group_sequence=st.none() | st.integers(0, 2**32 - 1),
    ),
    PLACES,
    st.booleans(),
    st.integers(0, 9),
    TIMES,
    TIMES,
)
def test_a_message_arrives_as_it_was_sent(message, place, persistent, priority, expiration, delivery_time):
    message.message_id = "ID:1"
    message.destination = place
    message.persistent, message.priority = persistent, priority
    message.expiration, message.timestamp, message.delivery_time = expiration, 12.5, delivery_time
    came = received(encoded(message))
    for name in ("body", "properties", "type", "correlation_id", "reply_to", "group_id", "group_sequence"):
        assert getattr(came, name) == getattr(message, name)
    for name in ("message_id", "destination", "persistent", "priority", "expiration", "timestamp", "delivery_time"):
        assert getattr(came, name) == getattr(message, name)


@given(BODIES, st.text(), IDS, st.none() | st.integers(1, 2**32 - 1))
def test_what_is_written_fast_is_what_the_codec_would_read(body, to, correlation_id, ttl):
    message = Message(body, correlation_id=correlation_id)
    message.message_id = "ID:1"
    message.destination = Queue(to)
    found = decode_message(encode_outgoing(message, to, str, True, 4, None if ttl is None else ttl / 1000))
    assert (found.message_id, found.to, found.correlation_id, found.durable) == ("ID:1", to, correlation_id, True)
    assert found.ttl == ttl


@given(
    st.builds(
        AmqpMessage,
        body=st.builds(Data, st.binary(max_size=400))
        | st.builds(Value, SIMPLE)
        | st.builds(Sequence, st.lists(SIMPLE, max_size=9)),
        durable=st.booleans(),
        priority=st.integers(0, 9),
        delivery_count=st.integers(0, 5),
        message_annotations=st.none() | st.dictionaries(st.sampled_from(["x-opt-a", "x-opt-b"]).map(Symbol), SIMPLE),
        message_id=IDS.map(lambda value: ULong(value) if type(value) is int else value),
        to=st.none() | st.text(max_size=300),
        content_type=st.sampled_from([None, "text/plain", "application/json"]),
        creation_time=st.none() | st.integers(0, 2**40),
        group_id=st.none() | st.text(),
        application_properties=st.none() | st.dictionaries(st.text(), SIMPLE, max_size=3),
    )
)
def test_the_fast_reader_and_the_codec_read_the_same(message):
    payload = encode_message(message)
    quick = read_usual(payload)
    assert quick is None or quick == decode_any(payload)


@given(st.binary(max_size=60), st.integers(0, 200))
@example(b"\x83", 71)  # a time that is cut off
def test_no_bytes_break_the_reader(tail, cut):
    payload = encoded(Message("text", type="t"))
    message = received(payload[:cut] + tail)
    with contextlib.suppress(MessageFormat):
        _ = message.body


@pytest.mark.parametrize(
    ("body", "kind"), [("t", 5), (b"b", 3), ({"k": 1}, 2), ([1], 4), (None, 0), (7, 1), (uuid.UUID(int=1), 1)]
)
def test_other_jms_clients_see_the_right_class(body, kind):
    annotations = decode_message(encoded(Message(body))).message_annotations
    assert annotations == {"x-opt-jms-msg-type": kind, "x-opt-jms-dest": 0}
    assert type(annotations["x-opt-jms-msg-type"]) is Byte


def test_destinations_say_what_kind_they_are():
    message = Message("m", reply_to=TemporaryQueue("mine"))
    message.destination = Topic("news")
    annotations = decode_message(encoded(message)).message_annotations
    assert (annotations["x-opt-jms-dest"], annotations["x-opt-jms-reply-to"]) == (1, 2)
    came = received(encoded(message))
    assert came.destination == Topic("news")
    assert came.reply_to == TemporaryQueue("mine")


@pytest.mark.parametrize(
    ("section", "content_type", "body"),
    [
        (Data(b"caf\xc3\xa9"), "text/plain", "café"),
        (Data(b"caf\xe9"), "text/plain", b"caf\xe9"),
        (Data(b"raw"), None, b"raw"),
        (Value(Int(5)), None, 5),
        (Sequence([1, "a"]), None, [1, "a"]),
    ],
)
def test_messages_without_annotations_are_read_by_what_they_hold(section, content_type, body):
    assert received(encode_message(AmqpMessage(body=section, content_type=content_type))).body == body


def test_bytes_stay_bytes_whatever_their_content_type():
    assert received(encoded(Message(b"a\xff", content_type="text/plain"))).body == b"a\xff"
    assert received(encoded(Message(b"abc", content_type="text/plain"))).body == b"abc"


@pytest.mark.parametrize(
    ("address", "place"), [("topic://a/b", Topic("a/b")), ("queue://q", Queue("q")), ("q", Queue("q"))]
)
def test_addresses_without_annotations_are_read_by_their_prefix(address, place):
    came = received(encode_message(AmqpMessage(body=Value("x"), to=address, reply_to=address)))
    assert (came.destination, came.reply_to) == (place, place)


def test_delivery_counts_are_those_of_the_server_and_of_recover():
    payload = encode_message(AmqpMessage(body=Value("x"), delivery_count=2))
    assert (received(payload).delivery_count, received(payload, again=1).delivery_count) == (3, 4)
    assert received(payload).redelivered
    assert not received(encoded(Message("x"))).redelivered


def test_annotations_of_one_message_are_its_own():
    payload = encoded(Message("x"))
    received(payload).annotations["x-opt-mine"] = 1
    assert "x-opt-mine" not in received(payload).annotations


@pytest.mark.parametrize("body", [object(), {1, 2}, 2**70, {"k": object()}])
def test_what_amqp_has_no_type_for_cannot_be_sent(body):
    with pytest.raises(MessageFormat, match="cannot be sent"):
        encoded(Message(body))


def test_a_message_that_was_not_received_cannot_be_acknowledged():
    with pytest.raises(IllegalState):
        Message("x").acknowledge()


def test_a_misspelt_attribute_is_an_error_on_received_messages_too():
    with pytest.raises(AttributeError, match="correlation"):
        _ = received(encoded(Message("x"))).correlation


# What RabbitMQ 3 and its shovel make of a text: the sections are strings, and the body is an encoded section.
ITEMS = (
    b"\xa1\x08exchange\xa1\x00\xa1\x0brouting_key\xa1\x04away\xa1\x04type\xa1\x08amqp-1.0"
    b"\xa1\x19x-amqp-1.0-app-properties\xa1\x0b\x00St\xc1\x06\x02\xa1\x01nU\x01"
    b"\xa1\x1ex-amqp-1.0-message-annotations\xa1\x10\x00Sr\xc1\x0b\x02\xa3\x06x-optaQ\x05"
    b"\xa1\x15x-amqp-1.0-properties\xa1\x0f\x00Ss\xc0\x0a\x06@@@@@\xa1\x02cc"
)
WRAPPED = (
    b"\x00Sp\xc0\x06\x05A@@@@\x00Sr\xc1\x01\x00\x00Ss\xc0\x0a\x06@@@@@\xa1\x02cc"
    b"\x00St\xd1"
    + (len(ITEMS) + 4).to_bytes(4, "big")
    + (12).to_bytes(4, "big")
    + ITEMS
    + b"\x00Su\xa0\x0e\x00Sw\xa1\ttext \xc3\xa4\xc3\xb6"
)


def test_a_message_that_rabbitmq_has_wrapped_up_is_as_it_was_sent():
    found = received(WRAPPED)
    assert (found.body, found.properties, found.correlation_id) == ("text äö", {"n": 1}, "cc")
    assert (found.annotations, found.persistent) == ({"x-opta": 5}, True)


@given(st.integers(0, len(WRAPPED) - 1), st.integers(0, 255))
def test_a_wrapped_message_with_a_broken_byte_is_read_or_is_no_message(at, byte):
    with contextlib.suppress(MessageFormat):
        assert received(WRAPPED[:at] + bytes((byte,)) + WRAPPED[at + 1 :]).priority is not None
    with contextlib.suppress(MessageFormat):
        assert received(WRAPPED[:at]).priority is not None
