"""Single sections of a message are read without the others."""

import contextlib

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


ANNOTATED = encode_message(
    Message(Data(b"b"), durable=True, message_annotations={"x-opt-a": 1, "x-opt-b": "b"}, to="q")
)


def test_annotations_are_found_with_their_bytes():
    start, end, found = section_reading.encoded_annotations(ANNOTATED)
    assert found == {
        "x-opt-a": encode(Symbol("x-opt-a")) + encode(1),
        "x-opt-b": encode(Symbol("x-opt-b")) + encode("b"),
    }
    assert ANNOTATED[start : start + 3] == sections.MESSAGE_ANNOTATIONS_START
    assert ANNOTATED[end:].startswith(sections.PROPERTIES_START)


def test_without_annotations_their_position_is_before_the_next_section():
    payload = encode_message(Message(Data(b"b"), durable=True, to="q"))
    start, end, found = section_reading.encoded_annotations(payload)
    assert (start, found) == (end, {})
    assert payload[start:].startswith(sections.PROPERTIES_START)


@pytest.mark.parametrize(
    "payload",
    [
        "005372c00101",  # a list
        "0053724101",  # neither list nor map
        "005372c10602a101614101",  # more bytes than entries
        "005372a10161",
        "00537040005372c10100",  # a header that is null
    ],
)
def test_annotations_that_make_no_sense_are_unreadable(payload):
    with pytest.raises(section_reading.UNREADABLE):
        section_reading.encoded_annotations(bytes.fromhex(payload))


@pytest.mark.parametrize(
    ("payload", "read"),
    [
        ("005370c003014101", section_reading.read_header),  # a byte too many
        ("005370c0020155", section_reading.read_header),  # a number that is cut off
        ("005370c003015501", section_reading.read_header),  # durable is no number
        ("005370a100", section_reading.read_header),
        ("005374c10802a10161a10162", section_reading.read_application_properties),  # longer than its bytes
        ("005374c00100", section_reading.read_properties),
    ],
)
def test_other_sections_that_make_no_sense_are_unreadable_or_not_there(payload, read):
    with contextlib.suppress(section_reading.UNREADABLE):
        assert read(bytes.fromhex(payload)) in (list(sections.HEADER_DEFAULTS), [None] * 13)


def test_more_sections_than_a_message_can_have_are_unreadable():
    with pytest.raises(section_reading.UNREADABLE):
        find_section(sections.HEADER_START + b"\x45" + (b"\x00\x53\x70\x45" * 8), section_reading.BODY_SECTION)


def test_names_and_values_of_every_kind_are_read():
    values = {"short": "s", "long": "x" * 300, "number": 5, "yes": True, "none": None, "list": [1]}
    payload = encode_message(Message(Data(b""), application_properties={**values, "n" * 300: 1}))
    found = section_reading.read_application_properties(payload)
    assert found.pop("n" * 300) == 1
    assert isinstance(found.pop("list"), bytes)
    assert found == {name: value for name, value in values.items() if name != "list"}


def test_a_section_with_an_eight_byte_descriptor_is_found():
    long_form = b"\x00\x80" + bytes(7) + bytes((sections.APPLICATION_PROPERTIES,)) + b"\xc1\x06\x02\xa1\x01a\x54\x05"
    assert section_reading.read_application_properties(long_form) == {"a": 5}
    assert find_section(b"\x00\xb0\x00\x00\x00", section_reading.BODY_SECTION) == (0, 0, sections.DATA)
