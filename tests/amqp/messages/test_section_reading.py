"""Single sections of a message are read without the others."""

import pytest
from hypothesis import given

from amqp.strategies import messages, quick
from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.codec.values import Described, Symbol, ULong
from heliograph.amqp.messages import section_reading, sections
from heliograph.amqp.messages.message import Data, Message, encode_message
from heliograph.amqp.messages.section_reading import MOST_ENTRIES, find_section, too_many_entries

MESSAGE = encode_message(
    Message(
        Data(b"body"),
        durable=True,
        ttl=5,
        delivery_annotations={"x-opt-a": 1},
        message_annotations={"x-opt-b": "b"},
        to="queue://q",
        application_properties={"colour": "red", "n": 5},
    )
)


def test_each_section_is_read_by_itself():
    assert section_reading.read_header(MESSAGE) == (True, 4, 5, False, 0)
    assert section_reading.read_properties(MESSAGE)[sections.TO] == "queue://q"
    assert section_reading.read_message_annotations(MESSAGE) == {"x-opt-b": "b"}
    assert section_reading.read_application_properties(MESSAGE) == {"colour": "red", "n": 5}


def test_sections_that_are_not_there_have_nothing_in_them():
    empty = encode_message(Message(Data(b"")))
    assert section_reading.read_header(empty) == sections.HEADER_DEFAULTS
    assert section_reading.read_properties(empty) == [None] * 13
    assert section_reading.read_message_annotations(empty) == section_reading.read_application_properties(empty) == {}


@quick
@given(messages)
def test_the_body_begins_where_all_other_sections_end(message):
    body = message.body
    message.footer = None
    payload = encode_message(message)
    start, value_at, code = find_section(payload, section_reading.BODY_SECTION)
    assert payload[start:] == encode_message(Message(body))
    assert payload[start:value_at] == sections.section_start(code)


def test_a_section_may_have_its_name_as_descriptor():
    named = encode(Described(Symbol("amqp:header:list"), [True])) + encode(Described(ULong(sections.DATA), b""))
    assert section_reading.read_header(named)[sections.DURABLE] is True


@pytest.mark.parametrize("field", ["application_properties", "message_annotations"])
def test_a_message_has_so_many_entries_and_no_more(field):
    def payload(number):
        return encode_message(Message(Data(b""), **{field: {f"x-opt-{n}": n for n in range(number)}}))

    assert too_many_entries(payload(MOST_ENTRIES)) is None
    assert f"this one has {MOST_ENTRIES + 1}" in (too_many_entries(payload(MOST_ENTRIES + 1)) or "")
