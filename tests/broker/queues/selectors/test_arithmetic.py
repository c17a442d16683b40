"""What compiled selectors count and compare with: numbers of 64 bits, and nothing without a result."""

from fractions import Fraction
from math import inf, isfinite, trunc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.broker.queues.selectors import arithmetic
from heliograph.broker.queues.selectors.arithmetic import LONGEST_TEXT

EXACT = st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1]) | st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
NUMBERS = EXACT | FLOATS
OTHERS = st.sampled_from([None, True, False, "", "1", b"1"])


def within(number):
    return number if -(2**63) <= number < 2**63 else None


@given(EXACT, EXACT)
def test_exact_numbers_have_exact_results_within_64_bits(left, right):
    assert arithmetic.add(left, right) == within(left + right)
    assert arithmetic.subtract(left, right) == within(left - right)
    assert arithmetic.multiply(left, right) == within(left * right)
    assert arithmetic.negate(left) == within(-left)
    if right:
        assert arithmetic.divide(left, right) == within(trunc(Fraction(left, right)))


@given(FLOATS, NUMBERS)
def test_approximate_results_are_finite_or_unknown(left, right):
    for operation in (arithmetic.add, arithmetic.subtract, arithmetic.multiply, arithmetic.divide):
        result = operation(left, right)
        assert result is None or isfinite(result)


@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
def test_nothing_is_divided_by_zero(zero):
    assert arithmetic.divide(1, zero) is None
    assert arithmetic.divide(1.5, zero) is None


@given(NUMBERS, NUMBERS)
def test_numbers_of_both_kinds_compare(left, right):
    assert arithmetic.equal(left, right) is (left == right)
    assert arithmetic.above(left, right) is (left > right)
    assert arithmetic.at_least(left, right) is (left >= right)


@given(NUMBERS, OTHERS)
def test_with_anything_else_the_result_is_unknown(number, other):
    for operation in (
        arithmetic.equal, arithmetic.above, arithmetic.at_least, arithmetic.add, arithmetic.subtract,
        arithmetic.multiply, arithmetic.divide,
    ):  # fmt: skip
        assert operation(number, other) is None
        assert operation(other, number) is None
    assert arithmetic.negate(other) is None


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ("a", "a", True), ("a", "A", False), ("a", None, None), (True, True, True), (True, False, False),
        (True, 1, None), (None, None, None), (b"a", b"a", None),
        ("x" * LONGEST_TEXT, "x" * LONGEST_TEXT, True), ("x" * (LONGEST_TEXT + 1), "x", None),
    ],
)  # fmt: skip
def test_only_values_of_one_kind_are_equal_or_not(left, right, result):
    assert arithmetic.equal(left, right) is result


def test_the_largest_floats_overflow_to_unknown():
    assert arithmetic.multiply(1e308, 10.0) is None
    assert arithmetic.negate(inf) is None


@pytest.mark.parametrize(("identifier", "text"), [(None, None), ("a", "a"), (7, "ID:AMQP_ULONG:7")])
def test_identifiers_are_text(identifier, text):
    assert arithmetic.as_text(identifier) == text
