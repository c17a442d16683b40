"""Simple values are read where they stand, with the types that selectors know."""

from uuid import UUID

import pytest
from hypothesis import given

from amqp.strategies import quick, values
from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.codec.values import Char, Described, Float, Symbol, Timestamp, UByte, ULong
from heliograph.amqp.messages.section_reading import UNREADABLE, read_value


@pytest.mark.parametrize(
    ("value", "simple"),
    [
        (None, None),
        (True, True),
        (UByte(5), 5),
        (ULong(2**64 - 1), 2**64 - 1),
        (-7, -7),
        (Timestamp(17), 17),
        (Float(0.5), 0.5),
        ("text", "text"),
        ("x" * 300, "x" * 300),
        (Symbol("name"), "name"),
        (Char("ä"), "ä"),
        (b"bytes", b"bytes"),
        (UUID(int=5), UUID(int=5)),
        (Described(Symbol("a"), "text"), "text"),
    ],
    ids=repr,
)
def test_values_have_simple_types(value, simple):
    encoded = encode(value)
    found, end = read_value(b"before" + encoded + b"behind", 6)
    assert (found, end) == (simple, 6 + len(encoded))
    assert type(found) in {type(None), bool, int, float, str, bytes, UUID}


@quick
@given(values)
def test_of_any_value_it_is_known_where_it_ends(value):
    encoded = encode(value)
    assert read_value(encoded + b"\x40", 0)[1] == len(encoded)


@pytest.mark.parametrize(
    "data", [b"", b"\xff", b"\xa1\x05abc", b"\x70\x00", b"\xa1\x01\xff", b"\x00\x00\x40"], ids=bytes.hex
)
def test_what_makes_no_sense_is_unreadable(data):
    with pytest.raises(UNREADABLE):
        read_value(data, 0)
