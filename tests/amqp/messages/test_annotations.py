"""Message annotations are added and removed, and every other byte of a message stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp.strategies import messages, quick
from heliograph.amqp.codec.values import Symbol, Timestamp
from heliograph.amqp.messages.annotations import with_annotations, without_annotations
from heliograph.amqp.messages.message import Data, Message, decode_message, encode_message

WHY, WHEN = Symbol("x-opt-why"), Symbol("x-opt-when")


@quick
@given(messages)
def test_new_annotations_stand_beside_those_that_were_there(message):
    before = message.message_annotations or {}
    found = decode_message(with_annotations(encode_message(message), {WHY: "so", WHEN: Timestamp(5)}))
    assert found.message_annotations == {**before, WHY: "so", WHEN: 5}
    found.message_annotations = message.message_annotations
    assert found == message


def test_an_annotation_that_is_there_gets_the_new_value():
    once = with_annotations(encode_message(Message(Data(b"x"))), {WHY: "so"})
    assert decode_message(with_annotations(once, {WHY: "not so"})).message_annotations == {WHY: "not so"}


@given(st.integers(0, 300))
def test_annotations_that_are_removed_leave_the_message_as_it_was(length):
    payload = encode_message(Message(Data(b"x"), message_annotations={"x-opt-a": "a" * length}, to="q"))
    assert without_annotations(with_annotations(payload, {WHY: "so"}), frozenset({WHY})) == payload


def test_without_any_annotation_left_there_is_no_section():
    payload = encode_message(Message(Data(b"x"), durable=True))
    assert without_annotations(with_annotations(payload, {WHY: "so"}), frozenset({WHY, WHEN})) == payload


@pytest.mark.parametrize(
    "payload", [b"\x00\x53\x72\xc1\xff\x02", b"\x00\x53\x72\x40\x00\x53\x75\xa0\x00"], ids=bytes.hex
)
def test_what_makes_no_sense_is_not_changed_but_refused(payload):
    with pytest.raises((IndexError, ValueError)):
        with_annotations(payload, {WHY: "so"})
