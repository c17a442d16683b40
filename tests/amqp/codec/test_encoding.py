"""Values to bytes: the shortest form of each, round trips, and what cannot be written."""

import pytest
from hypothesis import given

from amqp.known_bytes import SHORTEST
from amqp.strategies import quick, values, with_types
from heliograph.amqp.codec.decoding import decode
from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.codec.values import (
    Array,
    Byte,
    Char,
    Decimal32,
    Long,
    Symbol,
    UByte,
    UInt,
    ULong,
)
from heliograph.amqp.errors import EncodeError
from heliograph.errors import InvalidInput


@pytest.mark.parametrize(("value", "data"), SHORTEST, ids=lambda value: repr(value)[:30])
def test_a_value_is_written_in_its_shortest_form(value, data):
    assert encode(value).hex() == bytes.fromhex(data).hex()


def test_a_plain_int_is_a_long():
    assert encode(5) == encode(Long(5))
    assert encode(1 << 40) == encode(Long(1 << 40))


@quick
@given(values)
def test_what_is_written_is_read_again(value):
    data = encode(value)
    decoded, end = decode(data)
    assert with_types(decoded) == with_types(value)
    assert end == len(data)


@pytest.mark.parametrize(
    "value",
    [UByte(256), UByte(-1), UInt(-1), UInt(1 << 32), ULong(1 << 64), Long(1 << 63), 1 << 63, Byte(128), Symbol("é")],
    ids=repr,
)
def test_a_value_out_of_range_is_a_problem(value):
    with pytest.raises(EncodeError):
        encode(value)


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, Decimal32(b"abc"), Char("ab"), Array(object, []), 1j],
    ids=lambda value: type(value).__name__,
)
def test_what_amqp_has_no_type_for_is_a_problem(value):
    with pytest.raises(EncodeError):
        encode(value)


def test_what_cannot_be_written_is_a_mistake_of_whoever_wrote_it():
    with pytest.raises(InvalidInput, match="out of the range of UByte"):
        encode(UByte(256))
    with pytest.raises(InvalidInput, match="no type for object"):
        encode([{"a": object()}])


class _Name(str):
    __slots__ = ()


def test_a_subclass_is_written_like_what_it_is_a_subclass_of():
    assert encode(_Name("ab")) == encode("ab")
    assert encode(True) != encode(1)
