"""BIT values behave as strings of 0 and 1."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.flow.language.values.bits import Bits

digits = st.text("01", max_size=40)


def test_only_zeros_and_ones() -> None:
    with pytest.raises(ValueError, match="0 and 1"):
        Bits("012")


def test_whole_bytes_only() -> None:
    with pytest.raises(ValueError, match="9 bits"):
        Bits("010101010").to_bytes()


def test_bits_do_not_change() -> None:
    bits = Bits("01")
    with pytest.raises(AttributeError):
        bits.digits = "11"


def test_bits_are_not_their_text() -> None:
    assert Bits("01") != "01"
    assert len({Bits("01"), Bits("01"), Bits("10")}) == 2


@given(st.binary(max_size=20))
def test_bytes_and_back(data: bytes) -> None:
    assert Bits.from_bytes(data).to_bytes() == data
    assert len(Bits.from_bytes(data)) == 8 * len(data)


@given(digits, digits, st.integers(-50, 50), st.integers(-50, 50))
def test_operations_are_those_of_the_digits(one: str, other: str, start: int, end: int) -> None:
    left, right = Bits(one), Bits(other)
    assert left + right == Bits(one + other)
    assert left[start:end] == Bits(one[start:end])
    assert (right in left) is (other in one)
    assert left.find(right, max(start, 0)) == one.find(other, max(start, 0))
    assert (left < right) is (one < other)
    assert (left <= right) is (one <= other)
    assert (left > right) is (one > other)
    assert (left >= right) is (one >= other)
    assert left.startswith(right) is one.startswith(other)
    assert left.endswith(right) is one.endswith(other)
    assert pickle.loads(pickle.dumps(left)) == left
