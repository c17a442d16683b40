"""Messages that RabbitMQ has wrapped up are as they were sent."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.amqp.errors import ProtocolError
from heliograph.amqp.messages import sections
from heliograph.amqp.messages.message import Data, Message, Value, encode_message
from heliograph.amqp.messages.message_reading import read_message
from heliograph.amqp.messages.rabbitmq import unwrapped

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
    found = read_message(WRAPPED)
    assert (found.body, found.application_properties) == (Value("text äö"), {"n": 1})
    assert found.properties[sections.CORRELATION_ID] == "cc"
    assert (found.annotations, found.durable) == ({"x-opta": 5}, True)


def test_other_messages_are_not_unwrapped():
    assert unwrapped(encode_message(Message(application_properties={"type": "amqp-1.0"}))) is None


@given(st.integers(0, len(WRAPPED) - 1), st.integers(0, 255))
def test_a_wrapped_message_with_a_broken_byte_is_read_or_is_no_message(at, byte):
    with contextlib.suppress(ProtocolError):
        read_message(WRAPPED[:at] + bytes((byte,)) + WRAPPED[at + 1 :])
    with contextlib.suppress(ProtocolError):
        read_message(WRAPPED[:at])


def test_a_wrapped_message_with_a_body_of_bytes_keeps_it():
    plain = WRAPPED.replace(b"amqp-1.0\xa1\x19", b"amqp-9.1\xa1\x19")
    assert read_message(plain).body == Data(b"\x00Sw\xa1\ttext \xc3\xa4\xc3\xb6")


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"\x00St\xa1\x15x-amqp-1.0-properties", "are a map"),
        (b"\x00St\xc1\x1a\x02\xa1\x15x-amqp-1.0-properties\x40\x40\x00Su\xa0\x00", "a map ends at"),
        (b"\x00St\xc1\xff\x02\xa1\x15x-amqp-1.0-properties", "cut off"),
    ],
)
def test_application_properties_that_make_no_sense_are_a_decode_error(payload, why):
    with pytest.raises(ProtocolError, match=why):
        unwrapped(payload)


def test_what_only_has_the_name_of_a_wrapped_section_in_its_body_is_not_unwrapped():
    assert unwrapped(encode_message(Message(Value("x-amqp-1.0-properties")))) is None
