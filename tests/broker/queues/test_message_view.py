"""What selectors see of a message."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.amqp.codec.values import (
    Array,
    Byte,
    Char,
    Decimal64,
    Float,
    Int,
    Long,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
)
from heliograph.amqp.messages.message import Data, Message, Value, encode_message
from heliograph.broker.queues.message_view import MessageView
from heliograph.broker.queues.selectors.compiling import Selector

WHOLE = Message(
    body=Data(b"hello"),
    durable=True,
    priority=7,
    ttl=60_000,
    delivery_count=2,
    delivery_annotations={"x-opt-a": 1},
    message_annotations={"x-opt-b": "b" * 300},
    message_id="ID:17",
    user_id=b"anna",
    to="queue://orders",
    subject="order",
    reply_to="queue://answers",
    correlation_id=UUID(int=5),
    content_type=Symbol("text/plain"),
    content_encoding=Symbol("gzip"),
    absolute_expiry_time=Timestamp(1_700_000_060_000),
    creation_time=Timestamp(1_700_000_000_000),
    group_id="g",
    group_sequence=UInt(3),
    reply_to_group_id="r",
    application_properties={"colour": "red", "weight": Int(3000)},
    footer={"x-opt-f": 1},
)


def matches(text, message=WHOLE, **known):
    return Selector(text).matches(MessageView(encode_message(message), **known))


@pytest.mark.parametrize(
    "text",
    [
        "JMSMessageID = 'ID:17'",
        "JMSCorrelationID = 'ID:AMQP_UUID:00000000-0000-0000-0000-000000000005'",
        "JMSType = 'order'",
        "JMSPriority = 7",
        "JMSDeliveryMode = 'PERSISTENT'",
        "JMSTimestamp = 1700000000000",
        "JMSExpiration = 1700000060000",
        "JMSXGroupID = 'g'",
        "JMSXGroupSeq = 3",
        "JMSXUserID = 'anna'",
        "JMSXDeliveryCount = 3",
        "JMSReplyTo = 'queue://answers'",
        "JMSDestination = 'queue://orders'",
        "amqp.durable AND NOT amqp.first_acquirer",
        "amqp.ttl = 60000 AND amqp.delivery_count = 2 AND amqp.priority = 7",
        "amqp.message_id = 'ID:17' AND amqp.user_id = 'anna' AND amqp.to = 'queue://orders'",
        "amqp.content_type = 'text/plain' AND amqp.content_encoding = 'gzip' AND amqp.reply_to_group_id = 'r'",
        "amqp.correlation_id IS NOT NULL",
        "colour = 'red' AND weight > 2500",
    ],
)
def test_fields_have_names(text):
    assert matches(text)


def test_a_message_that_says_nothing_has_the_defaults():
    bare = Message(body=Value(None))
    assert matches("JMSPriority = 4 AND JMSDeliveryMode = 'NON_PERSISTENT' AND JMSExpiration = 0", bare)
    assert matches("JMSXDeliveryCount = 1 AND JMSMessageID IS NULL AND JMSTimestamp IS NULL AND x IS NULL", bare)


def test_expiration_is_told_by_creation_and_life_too():
    message = Message(ttl=5, creation_time=Timestamp(1000))
    assert matches("JMSExpiration = 1005", message)


def test_the_queue_knows_better_how_often_delivery_has_failed():
    assert matches("JMSXDeliveryCount = 6", delivery_count=5)


def test_sections_are_read_once_and_only_when_asked_for():
    view = MessageView(encode_message(WHOLE))
    assert Selector("JMSPriority > 1").matches(view)
    assert object.__getattribute__(view, "header")
    for name in ("fields", "application"):
        with pytest.raises(AttributeError):
            object.__getattribute__(view, name)
    assert view.application is view.application


texts = st.text(max_size=300)
simple = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 255).map(UByte),
    st.integers(0, 2**16 - 1).map(UShort),
    st.integers(0, 2**32 - 1).map(UInt),
    st.integers(0, 2**64 - 1).map(ULong),
    st.integers(-128, 127).map(Byte),
    st.integers(-(2**15), 2**15 - 1).map(Short),
    st.integers(-(2**31), 2**31 - 1).map(Int),
    st.integers(-(2**63), 2**63 - 1).map(Long),
    st.integers(-(2**63), 2**63 - 1).map(Timestamp),
    st.floats(allow_nan=False),
    st.floats(allow_nan=False, width=32).map(Float),
    texts,
    st.text("abc", max_size=300).map(Symbol),
    st.characters(codec="utf-8").map(Char),
    st.uuids(),
    st.binary(max_size=300),
)


def simplified(value):
    for kind in (bool, int, float, str, bytes):
        if isinstance(value, kind):
            return kind(value)
    return value


@given(st.dictionaries(texts, simple, max_size=8))
def test_application_properties_of_all_types_are_seen(properties):
    message = Message(message_id="x" * 300, application_properties=properties)
    seen = MessageView(encode_message(message)).application
    assert seen == {name: simplified(value) for name, value in properties.items()}
    assert {type(value) for value in seen.values()} <= {type(None), bool, int, float, str, bytes, UUID}


def test_what_is_no_simple_value_is_there_but_compares_to_nothing():
    odd = {"a": Decimal64(b"12345678"), "b": [1, [2]], "c": {"x": 1}, "d": Array(Int, [1, 2]), "e": 5}
    message = Message(application_properties=odd)
    assert matches("a IS NOT NULL AND b IS NOT NULL AND c IS NOT NULL AND d IS NOT NULL AND e = 5", message)
    assert not matches("a = b OR a <> b OR a > 1 OR NOT c = 'x'", message)


def test_sections_may_be_described_in_longer_ways():
    properties = b"\x00\x80\0\0\0\0\0\0\0\x73\xc0\x05\x04\x40\x40\x40\xa1"[:-1] + b"\x40"
    application = b"\x00\xa3\x1famqp:application-properties:map\xc1\x06\x02\xa1\x01a\x54\x05"
    header = b"\x00\xa3\x10amqp:header:list\xc0\x03\x02\x41\x40"
    assert MessageView(header + properties + application).application == {"a": 5}
    assert MessageView(header).header == (True, 4, None, False, 0)


@given(st.binary(max_size=60), st.integers(0, 400))
def test_no_bytes_at_all_can_do_harm(garbage, cut):
    encoded = encode_message(WHOLE)
    for payload in (
        garbage,
        encoded[:cut],
        encoded[: cut // 2] + garbage,
        encoded[: cut // 2] + garbage + encoded[cut:],
    ):
        view = MessageView(payload)
        assert isinstance(view.application, dict)
        assert len(view.fields) == 13
        assert len(view.header) == 5
        for name in ("JMSExpiration", "JMSXUserID", "JMSXDeliveryCount", "JMSMessageID", "JMSCorrelationID"):
            Selector(f"{name} = 'x' OR {name} > 1").matches(view)
