"""The type system: known bytes, every encoding, round trips, and limits."""

import random
import struct
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp.strategies import quick, values, with_types
from heliograph.amqp.codec.decoding import DEEPEST, MOST_EMPTY_ITEMS, decode
from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.codec.values import (
    Array,
    Byte,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Described,
    Float,
    Int,
    Long,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
)
from heliograph.amqp.errors import DecodeError
from heliograph.errors import Problem

UUID = uuid.UUID("f275ea5e-0c57-4ad7-b11a-b20c563d3b71")

SHORTEST = [
    (None, "40"),
    (True, "41"),
    (False, "42"),
    (UByte(0), "50 00"),
    (UByte(255), "50 ff"),
    (UShort(258), "60 01 02"),
    (UInt(0), "43"),
    (UInt(255), "52 ff"),
    (UInt(256), "70 00 00 01 00"),
    (ULong(0), "44"),
    (ULong(16), "53 10"),
    (ULong(0x468C00000004), "80 00 00 46 8c 00 00 00 04"),
    (Byte(-1), "51 ff"),
    (Short(-2), "61 ff fe"),
    (Int(-128), "54 80"),
    (Int(128), "71 00 00 00 80"),
    (Long(127), "55 7f"),
    (Long(-129), "81 ff ff ff ff ff ff ff 7f"),
    (Float(1.5), "72 3f c0 00 00"),
    (1.5, "82 3f f8 00 00 00 00 00 00"),
    (Char("€"), "73 00 00 20 ac"),
    (Timestamp(1), "83 00 00 00 00 00 00 00 01"),
    (UUID, "98 f2 75 ea 5e 0c 57 4a d7 b1 1a b2 0c 56 3d 3b 71"),
    (Decimal32(b"abcd"), "74 61 62 63 64"),
    (Decimal64(b"abcdefgh"), "84 61 62 63 64 65 66 67 68"),
    (Decimal128(b"abcdefghijklmnop"), "94" + b"abcdefghijklmnop".hex()),
    (b"\x01\x02", "a0 02 01 02"),
    (bytes(256), "b0 00 00 01 00" + "00" * 256),
    ("é", "a1 02 c3 a9"),
    ("x" * 256, "b1 00 00 01 00" + "78" * 256),
    (Symbol("ab"), "a3 02 61 62"),
    (Symbol("x" * 256), "b3 00 00 01 00" + "78" * 256),
    ([], "45"),
    ([True, UInt(0)], "c0 03 02 41 43"),
    (["x" * 253], "d0 00 00 01 03 00 00 00 01 a1 fd" + "78" * 253),
    ({}, "c1 01 00"),
    ({Symbol("a"): None}, "c1 05 02 a3 01 61 40"),
    ({"x" * 253: None}, "d1 00 00 01 04 00 00 00 02 a1 fd" + "78" * 253 + "40"),
    (Array(Symbol, [Symbol("a")]), "f0 00 00 00 0a 00 00 00 01 b3 00 00 00 01 61"),
    (Array(bool, [True, False]), "f0 00 00 00 07 00 00 00 02 56 01 00"),
    (Array(UInt, [UInt(1)], ULong(5)), "f0 00 00 00 0c 00 00 00 01 00 53 05 70 00 00 00 01"),
    (Described(ULong(0x24), []), "00 53 24 45"),
]

OTHER_ENCODINGS = [
    (True, "56 01"),
    (False, "56 00"),
    (UInt(0), "52 00"),
    (UInt(0), "70 00 00 00 00"),
    (ULong(1), "80 00 00 00 00 00 00 00 01"),
    (Int(1), "71 00 00 00 01"),
    (Long(1), "81 00 00 00 00 00 00 00 01"),
    (b"a", "b0 00 00 00 01 61"),
    ("a", "b1 00 00 00 01 61"),
    (Symbol("a"), "b3 00 00 00 01 61"),
    ([], "c0 01 00"),
    ([None], "c0 02 01 40"),
    ([], "d0 00 00 00 04 00 00 00 00"),
    ({}, "d1 00 00 00 04 00 00 00 00"),
    (Array(Symbol, [Symbol("a"), Symbol("b")]), "e0 06 02 a3 01 61 01 62"),
    (Array(UInt, [UInt(1)]), "e0 03 01 52 01"),
    (Array(list, [[], []]), "e0 02 02 45"),
]


@pytest.mark.parametrize(("value", "data"), SHORTEST, ids=lambda value: repr(value)[:30])
def test_a_value_is_written_in_its_shortest_form(value, data):
    assert encode(value).hex() == bytes.fromhex(data).hex()


@pytest.mark.parametrize(("value", "data"), SHORTEST + OTHER_ENCODINGS, ids=lambda value: repr(value)[:30])
def test_every_encoding_is_read(value, data):
    data = bytes.fromhex(data)
    decoded, end = decode(b"\xff" + data + b"\xff", 1)
    assert with_types(decoded) == with_types(value)
    assert end == len(data) + 1


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
    with pytest.raises(Problem):
        encode(value)


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, Decimal32(b"abc"), Char("ab"), Array(object, []), 1j],
    ids=lambda value: type(value).__name__,
)
def test_what_amqp_has_no_type_for_is_a_problem(value):
    with pytest.raises(Problem):
        encode(value)


BAD = {
    "nothing": "",
    "unknown type": "01",
    "cut off number": "70 00 00",
    "cut off binary": "a0 05 61",
    "cut off long binary": "b0 ff ff ff ff 61",
    "cut off list": "c0 05 02 41",
    "a boolean that is neither": "56 02",
    "text that is not UTF-8": "a1 01 ff",
    "a symbol that is not ASCII": "a3 01 ff",
    "a char beyond Unicode": "73 00 11 00 00",
    "a list without a count": "c0 00",
    "a list with too many items": "c0 02 05 40",
    "a list with bytes left over": "c0 04 01 40 40 40",
    "items that go beyond their list": "c0 02 01 a0 01 61",
    "a map with half a pair": "c1 02 01 40",
    "a map with a list as a key": "c1 03 02 45 40",
    "an array of an unknown type": "e0 02 01 01",
    "an array of described descriptions": "e0 05 01 00 53 01 00",
    "an array with too many items": "e0 03 09 50 01",
    "a huge array of nothing": "f0 00 00 00 05 ff ff ff ff 40",
    "a description without a value": "00 53 10",
    "a uuid cut off": "98 00",
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_bytes_that_are_no_value_are_a_decode_error(data):
    with pytest.raises(DecodeError):
        decode(bytes.fromhex(data))


@pytest.mark.parametrize(
    "wrap", [lambda data: b"\x00\x43" + data, lambda data: b"\xc0" + bytes((len(data) + 1, 1)) + data]
)
def test_values_may_be_nested_only_so_deep(wrap):
    data = b"\x40"
    for _ in range(DEEPEST):
        data = wrap(data)
    decode(data)
    with pytest.raises(DecodeError, match="nested"):
        decode(wrap(data))


def test_an_array_of_empty_items_is_bounded():
    size = struct.pack(">II", 5, MOST_EMPTY_ITEMS)
    assert len(decode(b"\xf0" + size + b"\x41")[0].items) == MOST_EMPTY_ITEMS
    with pytest.raises(DecodeError):
        decode(b"\xf0" + struct.pack(">II", 5, MOST_EMPTY_ITEMS + 1) + b"\x41")


@quick
@given(st.binary(max_size=100))
def test_random_bytes_are_a_value_or_a_decode_error(data):
    try:
        _, end = decode(data)
    except DecodeError:
        return
    assert 0 < end <= len(data)


@quick
@given(values, st.randoms(use_true_random=False))
def test_damaged_values_are_a_value_or_a_decode_error(value, chance: random.Random):
    data = bytearray(encode(value))
    for _ in range(chance.randint(1, 3)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    try:
        _, end = decode(bytes(data))
    except DecodeError:
        return
    assert 0 < end <= len(data)


def test_an_empty_array_of_a_type_that_does_not_exist_is_a_decode_error():
    with pytest.raises(DecodeError, match="0x01"):
        decode(b"\xe0\x02\x00\x01")
