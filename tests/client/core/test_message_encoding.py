"""Messages between Python and the wire."""

import contextlib
import uuid

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.amqp.codec.values import Byte, Int
from heliograph.amqp.messages.message import Data, Sequence, Value, decode_message, encode_message
from heliograph.amqp.messages.message import Message as AmqpMessage
from heliograph.client import Message, Queue, TemporaryQueue, Topic
from heliograph.client.core.message_encoding import decode_incoming, encode_outgoing
from heliograph.client.errors import IllegalState, MessageFormat
from heliograph.client.message import ReceivedMessage

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
    return ReceivedMessage(payload, again, Origin(), [])


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
