"""Bodies of messages as payloads of MQTT and as Python values."""

import uuid

import pytest

from heliograph.amqp.errors import DecodeError, InvalidField
from heliograph.amqp.messages import jms_kinds
from heliograph.amqp.messages.message import Data, Message, Sequence, Value, decode_message, encode_message
from heliograph.mapping.bodies import (
    MOST_SECTIONS,
    Body,
    is_body,
    is_utf8,
    kind_and_body_of,
    publication_body,
    value_of_body,
)


def section(body):
    return encode_message(Message(body))


@pytest.mark.parametrize(
    ("sections", "body"),
    [
        ([Data(b"ab")], Body(b"ab")),
        ([Data(b"ab"), Data(b"cd")], Body(b"abcd")),
        ([Value(b"ab")], Body(b"ab")),
        ([Value("text")], Body(b"text", text=True)),
        ([Value(None)], Body(b"")),
        ([Value(5)], Body(section(Value(5)), encoded=True)),
        (
            [Sequence([1]), Sequence([2])],
            Body(b"\x00\x53\x76\xd0" + b"\0\0\0\x08" + b"\0\0\0\x02U\x01U\x02", encoded=True),
        ),
        ([], Body(b"")),
    ],
    ids=repr,
)
def test_a_body_is_a_payload(sections, body):
    assert publication_body(b"".join(map(section, sections)), 0) == body


def test_a_footer_is_left_out():
    assert publication_body(encode_message(Message(Data(b"x"), footer={"a": 1})), 0) == Body(b"x")


def test_what_is_no_body_is_refused():
    with pytest.raises(DecodeError):
        publication_body(section(Value(1)) + section(Value(2)), 0)


def test_a_body_has_so_many_sections_and_no_more():
    assert publication_body(section(Data(b"x")) * MOST_SECTIONS, 0).payload == b"x" * MOST_SECTIONS
    with pytest.raises(InvalidField):
        publication_body(section(Data(b"x")) * (MOST_SECTIONS + 1), 0)


@pytest.mark.parametrize("body", [Value({"a": 1}), Value("text"), Sequence([1, "x"])], ids=repr)
def test_a_whole_section_of_a_value_or_a_list_is_a_body(body):
    assert is_body(section(body))
    assert not is_body(section(body)[:-1])
    assert not is_body(section(body) + b"\x40")


def test_bytes_are_no_encoded_body():
    assert not is_body(section(Data(b"x")))


@pytest.mark.parametrize(("payload", "text"), [(b"", True), (b"a", True), ("ä".encode(), True), (b"\xff", False)])
def test_text_is_utf_8(payload, text):
    assert is_utf8(payload) is text


@pytest.mark.parametrize(
    ("value", "kind", "section"),
    [
        ("t", jms_kinds.TEXT, Value("t")),
        (b"b", jms_kinds.BYTES, Data(b"b")),
        ({"k": 1}, jms_kinds.MAP, Value({"k": 1})),
        ([1, "a"], jms_kinds.STREAM, Sequence([1, "a"])),
        (None, jms_kinds.MESSAGE, Value(None)),
        (7, jms_kinds.OBJECT, Value(7)),
        (uuid.UUID(int=1), jms_kinds.OBJECT, Value(uuid.UUID(int=1))),
    ],
)
def test_a_value_is_a_kind_of_message_and_comes_back(value, kind, section):
    found, encoded = kind_and_body_of(value)
    assert (found, decode_message(encoded).body) == (kind, section)
    assert value_of_body(section, None, kind) == value


def test_data_with_a_content_type_of_text_is_a_text_if_it_can_be_read():
    assert value_of_body(Data("ä".encode()), "text/plain", None) == "ä"
    assert value_of_body(Data(b"\xe4"), "text/plain", None) == b"\xe4"
    assert value_of_body(Data(b"a"), "text/plain", jms_kinds.BYTES) == b"a"


def test_empty_data_is_nothing_in_a_message_without_a_body():
    assert value_of_body(Data(b""), None, jms_kinds.MESSAGE) is None
    assert value_of_body(Data(b""), None, jms_kinds.BYTES) == b""
