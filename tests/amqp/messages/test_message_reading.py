"""Messages of the usual form are read fast, and all others as well."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.codec.values import Described, Symbol, ULong
from heliograph.amqp.errors import ProtocolError
from heliograph.amqp.messages.message import Data, Sequence, Value, encode_message
from heliograph.amqp.messages.message import Message as AmqpMessage
from heliograph.amqp.messages.message_reading import (
    decode_any,
    front_length,
    read_front,
    read_message,
    read_usual_message,
)

LONGS = st.integers(-(2**63), 2**63 - 1)
SIMPLE = st.none() | st.booleans() | LONGS | st.floats(allow_nan=False) | st.text() | st.binary() | st.uuids()
IDS = st.none() | st.text() | st.uuids() | st.binary() | st.integers(0, 2**64 - 1)


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
    quick = read_usual_message(payload)
    assert quick is None or quick == decode_any(payload)


def test_a_message_of_an_unusual_form_is_read_too():
    payload = encode(Described(Symbol("amqp:header:list"), [True])) + encode(Described(Symbol("amqp:amqp-value:*"), 1))
    assert read_usual_message(payload) is None
    assert (read_message(payload).durable, read_message(payload).body) == (True, Value(1))


def test_header_and_annotations_are_the_front():
    payload = encode_message(AmqpMessage(Data(b"x"), priority=7, message_annotations={"x-opt-a": 1}, to="q"))
    end = front_length(payload)
    assert payload[end:] == encode_message(AmqpMessage(Data(b"x"), to="q"))
    assert read_front(payload[:end]) == (False, 7, 0, {"x-opt-a": 1})


def test_annotations_and_properties_of_one_message_are_its_own():
    payload = encode_message(
        AmqpMessage(Data(b"x"), message_annotations={"x-opt-a": 1}, application_properties={"a": 1})
    )
    came = read_message(payload)
    came.annotations.clear()
    came.application_properties.clear()
    assert (read_message(payload).annotations, read_message(payload).application_properties) == (
        {"x-opt-a": 1},
        {"a": 1},
    )


@pytest.mark.parametrize(
    "payload", [b"\xff" * 9, b"\x00\x53\x70\xc0\x05\x01", b"\x00\x53\x75\xa0\x05abc"], ids=bytes.hex
)
def test_what_is_no_message_is_a_protocol_error(payload):
    with pytest.raises(ProtocolError):
        read_message(payload)
