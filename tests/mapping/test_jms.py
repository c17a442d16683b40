"""Which kind of message of JMS a Python value is, and which value a body stands for."""

import uuid

import pytest

from heliograph.amqp.messages import jms_kinds
from heliograph.amqp.messages.message import Data, Sequence, Value, decode_message
from heliograph.mapping.jms import kind_and_body_of, value_of_body


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
