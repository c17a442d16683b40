"""Which kind of message of JMS a Python value is, and which value a body stands for."""

import uuid

import pytest

from heliograph.amqp.messages import jms_kinds
from heliograph.amqp.messages.message import Data, Sequence, Value, decode_message
from heliograph.mapping.jms import body_of, kind_and_body


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
    found, encoded = kind_and_body(value)
    assert (found, decode_message(encoded).body) == (kind, section)
    assert body_of(section, None, kind) == value


def test_data_with_a_content_type_of_text_is_a_text_if_it_can_be_read():
    assert body_of(Data("ä".encode()), "text/plain", None) == "ä"
    assert body_of(Data(b"\xe4"), "text/plain", None) == b"\xe4"
    assert body_of(Data(b"a"), "text/plain", jms_kinds.BYTES) == b"a"


def test_empty_data_is_nothing_in_a_message_without_a_body():
    assert body_of(Data(b""), None, jms_kinds.MESSAGE) is None
    assert body_of(Data(b""), None, jms_kinds.BYTES) == b""
