"""Sections that are written by hand are those that the codec writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.amqp.codec.values import Timestamp
from heliograph.amqp.messages import section_writing as writing
from heliograph.amqp.messages.annotations import DELIVERY_TIME
from heliograph.amqp.messages.message import Data, Message, Value, decode_message

EMPTY = writing.start_of_body(0, text=False)


@pytest.mark.parametrize("size", [0, 1, 255, 256, 70_000])
def test_a_body_follows_its_start(size):
    assert decode_message(writing.start_of_body(size, text=True) + b"x" * size).body == Value("x" * size)
    assert decode_message(writing.start_of_body(size, text=False) + b"x" * size).body == Data(b"x" * size)


@given(st.none() | st.booleans(), st.none() | st.integers(0, 9), st.none() | st.integers(0, 2**32 - 1))
def test_the_header_says_what_was_given(durable, priority, ttl):
    found = decode_message(writing.header_section(durable, priority, ttl) + EMPTY)
    assert (found.durable, found.priority, found.ttl) == (bool(durable), 4 if priority is None else priority, ttl)


def test_a_header_in_which_all_is_as_usual_is_left_out():
    assert writing.header_section(False, 4, None) == b""


def test_annotations_tell_the_kinds_and_what_else_is_given():
    found = decode_message(writing.annotations_section(5, 1, None, {DELIVERY_TIME: Timestamp(7)}) + EMPTY)
    assert found.message_annotations == {"x-opt-jms-msg-type": 5, "x-opt-jms-dest": 1, "x-opt-delivery-time": 7}
    assert writing.kinds_section(5, 1, None) == writing.annotations_section(5, 1, None, {})


@given(
    st.none() | st.text(max_size=300) | st.binary(max_size=9) | st.uuids() | st.integers(0, 2**64 - 1),
    st.text(max_size=300),
    st.none() | st.text(max_size=9),
    st.none() | st.integers(0, 9),
)
def test_properties_stand_in_their_places(identifier, to, group_id, sequence):
    fields = writing.property_fields(identifier, b"me", to, "s", None, identifier, "text/plain", 9, 8)
    fields += writing.group_fields(group_id, sequence)
    found = decode_message(writing.properties_section(fields) + EMPTY)
    assert found == Message(
        Data(b""),
        message_id=identifier,
        user_id=b"me",
        to=to,
        subject="s",
        correlation_id=identifier,
        content_type="text/plain",
        absolute_expiry_time=9,
        creation_time=8,
        group_id=group_id,
        group_sequence=sequence,
    )
