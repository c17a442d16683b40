"""Bytes to values: every encoding, limits on depth and size, and bytes that are no value."""

import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp.known_bytes import OTHER_ENCODINGS, SHORTEST
from amqp.strategies import damaged, quick, values, with_types
from heliograph.amqp.codec.decoding import DEEPEST, MOST_EMPTY_ITEMS, decode
from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.errors import DecodeError


@pytest.mark.parametrize(("value", "data"), SHORTEST + OTHER_ENCODINGS, ids=lambda value: repr(value)[:30])
def test_every_encoding_is_read(value, data):
    data = bytes.fromhex(data)
    decoded, end = decode(b"\xff" + data + b"\xff", 1)
    assert with_types(decoded) == with_types(value)
    assert end == len(data) + 1


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
    data = damaged(encode(value), chance)
    try:
        _, end = decode(data)
    except DecodeError:
        return
    assert 0 < end <= len(data)


def test_an_empty_array_of_a_type_that_does_not_exist_is_a_decode_error():
    with pytest.raises(DecodeError, match="0x01"):
        decode(b"\xe0\x02\x00\x01")
