"""Comparison: which types go together, and what comes out."""

import itertools
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.flow.errors import INCOMPATIBLE_TYPES, ConversionError, ExpressionError
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.comparison import (
    between,
    between_symmetric,
    equal,
    greater,
    greater_or_equal,
    in_,
    is_inf,
    is_nan,
    is_null,
    is_num,
    less,
    less_or_equal,
    like,
    not_equal,
)
from heliograph.flow.language.values.times import GmtTime, GmtTimestamp, Interval, Qualifier

NAN, INF = float("nan"), float("inf")

# One value of each type; those that may be compared with each other mean the same. TZ is UTC.
SAMPLES: dict[str, Any] = {
    "null": None,
    "boolean": True,
    "integer": 5,
    "float": 5.0,
    "decimal": Decimal("5.0"),
    "time": time(11, 49, 23),
    "gmttime": GmtTime(time(11, 49, 23)),
    "date": date(2000, 3, 29),
    "timestamp": datetime(2000, 3, 29),
    "gmttimestamp": GmtTimestamp(datetime(2000, 3, 29)),
    "interval": Interval(18, Qualifier.YEAR_TO_MONTH),
    "blob": b"\x0a\x0b",
    "bit": Bits("0101"),
    "character": "text",
}
# As a text, so that it is the same as the value of that type.
TEXTS = {
    "boolean": "true",
    "integer": " 5 ",
    "float": "5",
    "decimal": "5.00",
    "time": "11:49:23",
    "gmttime": "GMTTIME '11:49:23'",
    "date": "2000-03-29",
    "timestamp": "2000-03-29 00:00:00",
    "gmttimestamp": "2000-03-29 00:00:00.000",
    "interval": "1-06",
    "blob": "X'0A0B'",
    "bit": "0101",
    "character": "text  ",
}
FAMILIES = [{"integer", "float", "decimal"}, {"time", "gmttime"}, {"date", "timestamp", "gmttimestamp"}]
PAIRS = list(itertools.product(SAMPLES, SAMPLES))


COMPARISONS = (equal, not_equal, less, less_or_equal, greater, greater_or_equal)


def compared(left: Any, right: Any) -> list[bool | None]:
    """What `=`, `<>`, `<`, `<=`, `>` and `>=` say."""
    return [work(left, right) for work in COMPARISONS]


def compatible(one: str, other: str) -> bool:
    return one == other or any({one, other} <= family for family in FAMILIES)


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=[f"{one}-{other}" for one, other in PAIRS])
def test_every_pair_of_types(one: str, other: str, zone: Callable[[str], None]) -> None:
    zone("UTC")
    left, right = SAMPLES[one], SAMPLES[other]
    if one == "character" and other != "null":
        left = TEXTS[other]
    elif other == "character" and one != "null":
        right = TEXTS[one]
    if left is None or right is None:
        assert compared(left, right) == [None] * 6
    elif "character" in (one, other) or compatible(one, other):
        assert compared(left, right) == [True, False, False, True, False, True]
    else:
        for work in COMPARISONS:
            with pytest.raises(ExpressionError) as caught:
                work(left, right)
            assert caught.value.number == INCOMPATIBLE_TYPES


@pytest.mark.parametrize("kind", [kind for kind in TEXTS if kind != "character"])
def test_text_that_does_not_fit_is_an_error_not_false(kind: str) -> None:
    with pytest.raises(ConversionError):
        equal("nonsense", SAMPLES[kind])
    with pytest.raises(ConversionError):
        less(SAMPLES[kind], "nonsense")


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (False, True),
        (-1, 1),
        (1, 1.5),
        (1.5, Decimal("1.6")),
        (Decimal("0.1"), 1),
        (Decimal(1), Decimal("Infinity")),
        ("9", 10),
        ("a", "b"),
        ("B", "a"),
        ("a  ", "ab"),
        (b"\x01", b"\x01\x00"),
        (Bits("01"), Bits("1")),
        (time(1), time(2)),
        (date(2000, 1, 1), datetime(2000, 1, 1, 0, 0, 1)),
        (GmtTimestamp(datetime(2000, 1, 1)), GmtTimestamp(datetime(2000, 1, 2))),
        (Interval(1, Qualifier.YEAR_TO_MONTH), Interval(12, Qualifier.YEAR)),
    ],
)
def test_order(small: Any, large: Any) -> None:
    assert compared(small, large) == [False, True, True, True, False, False]
    assert compared(large, small) == [False, True, False, False, True, True]


def test_trailing_blanks_do_not_count_but_other_blanks_do() -> None:
    assert equal("hello", "hello   ") is True
    assert not_equal("hello  ", "hello") is False
    assert less("hello", "hello ") is False
    assert equal("hello", " hello") is False
    assert equal("hello", "hello\t") is False
    assert equal("hello", "Hello") is False
    assert equal("", "   ") is True


def test_float_with_decimal_is_compared_as_float() -> None:
    assert equal(0.1, Decimal("0.1")) is True
    assert equal(Decimal("0.1000000000000000000001"), 0.1) is True


def test_integer_with_float_is_compared_as_float() -> None:
    assert equal(2**53 + 1, float(2**53)) is True


def test_integer_with_decimal_is_exact() -> None:
    assert equal(2**53 + 1, Decimal(2**53)) is False


@pytest.mark.parametrize("number", [NAN, Decimal("NaN")], ids=["float", "decimal"])
@pytest.mark.parametrize("other", [NAN, 1, 1.0, Decimal(1), Decimal("NaN")], ids=repr)
def test_nan_is_equal_to_nothing(number: Any, other: Any) -> None:
    assert equal(number, other) is False
    assert not_equal(other, number) is True
    assert less(number, other) is False
    assert greater_or_equal(other, number) is False


def test_gmt_becomes_local_for_comparison(zone: Callable[[str], None]) -> None:
    zone("EST5")
    assert equal(datetime(2000, 1, 1, 7), GmtTimestamp(datetime(2000, 1, 1, 12))) is True
    assert equal(GmtTime(time(2)), time(21)) is True
    assert less(date(2000, 1, 1), GmtTimestamp(datetime(2000, 1, 1, 4))) is False


def test_intervals_of_two_families_do_not_compare() -> None:
    with pytest.raises(ExpressionError):
        equal(Interval(1, Qualifier.MONTH), Interval(1, Qualifier.DAY))


def test_text_unknown_with_boolean_is_unknown() -> None:
    assert equal("UNKNOWN", True) is None


def test_the_problem_says_what_was_compared() -> None:
    with pytest.raises(ExpressionError, match="< does not go with INTEGER and BLOB"):
        less(1, b"")


@pytest.mark.parametrize(
    ("value", "items", "result"),
    [
        (1, [1, 2], True),
        (1, ["2", " 1"], True),
        (1, [2, 3], False),
        (1, [2, None], None),
        (1, [None, 1], True),
        (None, [1], None),
        (None, [], False),
        (1, [], False),
    ],
)
def test_in(value: Any, items: list[Any], result: bool | None) -> None:
    assert in_(value, items) is result


@pytest.mark.parametrize(
    ("value", "low", "high", "result", "symmetric"),
    [
        (2, 1, 3, True, True),
        (1, 1, 3, True, True),
        (3, 1, 3, True, True),
        (4, 1, 3, False, False),
        (2, 3, 1, False, True),
        (2, None, 3, None, None),
        (4, None, 3, False, None),
        (0, 1, None, False, None),
        (None, 1, 3, None, None),
    ],
)
def test_between(value: Any, low: Any, high: Any, result: bool | None, symmetric: bool | None) -> None:
    assert between(value, low, high) is result
    assert between_symmetric(value, low, high) is symmetric


@pytest.mark.parametrize(
    ("value", "pattern", "result"),
    [
        ("heliograph", "helio%", True),
        ("heliograph", "%graph", True),
        ("heliograph", "%o_r%", True),
        ("heliograph", "helio", False),
        ("heliograph", "HELIO%", False),
        ("", "%", True),
        ("", "_", False),
        ("a.c", "a.c", True),
        ("abc", "a.c", False),
        ("100%", "100\\%", True),
        ("1000", "100\\%", False),
        ("a\nb", "a%b", True),
        ("a\\", "a\\", True),
        (None, "%", None),
        ("a", None, None),
    ],
)
def test_like(value: str | None, pattern: str | None, result: bool | None) -> None:
    assert like(value, pattern) is result


def test_like_with_an_escape_of_its_own() -> None:
    assert like("a_b", "a$_b", "$") is True
    assert like("axb", "a$_b", "$") is False
    assert like("a", "a", None) is None
    with pytest.raises(ExpressionError):
        like("a", "a", "$$")


def test_like_with_percent_as_escape() -> None:
    assert like("a%b", "a%%b", "%") is True
    assert like("axb", "a%%b", "%") is False


def test_like_of_a_long_text_without_a_match_is_quick() -> None:
    assert like("a" * 20_000, "%a%a%a%a%a%a%b%") is False


@given(st.text("ab%", max_size=8), st.text("ab", max_size=8))
def test_like_is_as_trying_every_way(pattern: str, text: str) -> None:
    def tried(pattern: str, text: str) -> bool:
        if not pattern:
            return not text
        if pattern[0] == "%":
            return tried(pattern[1:], text) or (bool(text) and tried(pattern, text[1:]))
        return bool(text) and pattern[0] == text[0] and tried(pattern[1:], text[1:])

    assert like(text, pattern) is tried(pattern, text)


def test_like_takes_characters_only() -> None:
    with pytest.raises(ExpressionError):
        like(5, "5")


@pytest.mark.parametrize(
    ("value", "inf", "plus", "minus", "nan", "num"),
    [
        (1, False, False, False, False, True),
        (1.5, False, False, False, False, True),
        (Decimal(2), False, False, False, False, True),
        (INF, True, True, False, False, False),
        (-INF, True, False, True, False, False),
        (Decimal("-Infinity"), True, False, True, False, False),
        (NAN, False, False, False, True, False),
        (Decimal("NaN"), False, False, False, True, False),
        ("1", False, False, False, False, False),
        (True, False, False, False, False, False),
        (None, False, False, False, False, False),
    ],
)
def test_is_number_tests(value: Any, inf: bool, plus: bool, minus: bool, nan: bool, num: bool) -> None:
    assert (is_inf(value), is_inf(value, 1), is_inf(value, -1), is_nan(value), is_num(value)) == (
        inf,
        plus,
        minus,
        nan,
        num,
    )


def test_is_null() -> None:
    assert is_null(None) is True
    assert is_null("") is False


@given(st.text(" ab", max_size=4), st.text(" ab", max_size=4))
def test_order_of_texts_is_total(left: str, right: str) -> None:
    assert [less(left, right), equal(left, right), greater(left, right)].count(True) == 1
    assert not_equal(left, right) is not equal(left, right)
    assert less_or_equal(left, right) is not greater(left, right)
