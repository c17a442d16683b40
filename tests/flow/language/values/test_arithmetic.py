"""Arithmetic: which types go together, and what comes out."""

import itertools
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal, getcontext, localcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.flow.errors import DIVIDE_BY_ZERO, INCOMPATIBLE_TYPES, OVERFLOW, ExpressionError
from heliograph.flow.language.values.arithmetic import add, concatenate, difference, divide, multiply, negate, subtract
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.literals import MAX_INTEGER, MIN_INTEGER, to_interval
from heliograph.flow.language.values.times import GmtTime, GmtTimestamp, Interval, Qualifier
from heliograph.flow.language.values.types import Type, type_of

SAMPLES: dict[Type, Any] = {
    Type.BOOLEAN: True,
    Type.INTEGER: 6,
    Type.FLOAT: 1.5,
    Type.DECIMAL: Decimal("2.5"),
    Type.CHARACTER: "3",
    Type.BLOB: b"\1",
    Type.BIT: Bits("1"),
    Type.DATE: date(2000, 3, 29),
    Type.TIME: time(11, 49, 23),
    Type.TIMESTAMP: datetime(2000, 3, 29, 11, 49, 23),
    Type.GMTTIME: GmtTime(time(11, 49, 23)),
    Type.GMTTIMESTAMP: GmtTimestamp(datetime(2000, 3, 29, 11, 49, 23)),
    Type.INTERVAL: Interval(3_600_000_000, Qualifier.HOUR),
}
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {"+": add, "-": subtract, "*": multiply, "/": divide}
NUMBERS = (Type.INTEGER, Type.FLOAT, Type.DECIMAL)
DATETIMES = (Type.DATE, Type.TIME, Type.TIMESTAMP, Type.GMTTIME, Type.GMTTIMESTAMP)


def result_type(left: Type, operator: str, right: Type) -> Type | None:
    """What the table of implicit casts for arithmetic says; None if it says nothing."""
    if left in NUMBERS and right in NUMBERS:
        return max(left, right, key=(Type.INTEGER, Type.DECIMAL, Type.FLOAT).index)
    rules = {
        "+": [(Type.INTERVAL, Type.INTERVAL, Type.INTERVAL)]
        + [(kind, Type.INTERVAL, kind) for kind in DATETIMES]
        + [(Type.INTERVAL, kind, kind) for kind in DATETIMES],
        "-": [(Type.INTERVAL, Type.INTERVAL, Type.INTERVAL)] + [(kind, Type.INTERVAL, kind) for kind in DATETIMES],
        "*": [(Type.INTERVAL, kind, Type.INTERVAL) for kind in NUMBERS]
        + [(kind, Type.INTERVAL, Type.INTERVAL) for kind in NUMBERS],
        "/": [(Type.INTERVAL, kind, Type.INTERVAL) for kind in NUMBERS],
    }
    return next((result for one, other, result in rules[operator] if (one, other) == (left, right)), None)


CASES = list(itertools.product(SAMPLES, OPERATORS, SAMPLES))


@pytest.mark.parametrize(("left", "operator", "right"), CASES, ids=[f"{one}{op}{other}" for one, op, other in CASES])
def test_every_pair_of_types(left: Type, operator: str, right: Type) -> None:
    work = OPERATORS[operator]
    expected = result_type(left, operator, right)
    if expected is None:
        with pytest.raises(ExpressionError) as caught:
            work(SAMPLES[left], SAMPLES[right])
        assert caught.value.number == INCOMPATIBLE_TYPES
    else:
        assert type_of(work(SAMPLES[left], SAMPLES[right])) is expected


@pytest.mark.parametrize("work", [*OPERATORS.values(), concatenate], ids=[*OPERATORS, "||"])
@pytest.mark.parametrize("other", SAMPLES.values(), ids=SAMPLES)
def test_null_with_anything_is_null(work: Callable[[Any, Any], Any], other: Any) -> None:
    assert work(None, other) is None
    assert work(other, None) is None
    assert work(None, None) is None


@pytest.mark.parametrize(
    ("left", "operator", "right", "result"),
    [
        (7, "+", 3, 10),
        (7, "-", 3, 4),
        (7, "*", 3, 21),
        (7, "/", 3, 2),
        (-7, "/", 3, -2),
        (7, "/", -3, -2),
        (-7, "/", -3, 2),
        (1, "/", 2.0, 0.5),
        (2.5, "*", 2, 5.0),
        (27.95, "*", 1.6, 44.72),
        (Decimal("0.1"), "+", Decimal("0.2"), Decimal("0.3")),
        (1, "/", Decimal(3), Decimal("0.3333333333333333333333333333333333")),
        (Decimal(2), "/", 3, Decimal("0.6666666666666666666666666666666667")),
        (0.5, "+", Decimal("0.25"), 0.75),
        (1e308, "*", 10.0, float("inf")),
    ],
)
def test_numbers(left: Any, operator: str, right: Any, result: Any) -> None:
    found = OPERATORS[operator](left, right)
    assert found == result
    assert type(found) is type(result)


@pytest.mark.parametrize("zero", [0, 0.0, Decimal(0)], ids=["int", "float", "decimal"])
@pytest.mark.parametrize(
    "dividend", [1, 1.0, Decimal(1), Interval(1, Qualifier.MONTH)], ids=["int", "float", "decimal", "interval"]
)
def test_divide_by_zero(dividend: Any, zero: Any) -> None:
    with pytest.raises(ExpressionError, match="divide by zero") as caught:
        divide(dividend, zero)
    assert caught.value.number == DIVIDE_BY_ZERO


@pytest.mark.parametrize(
    ("left", "operator", "right"),
    [
        (MAX_INTEGER, "+", 1),
        (MIN_INTEGER, "-", 1),
        (MAX_INTEGER, "*", 2),
        (MIN_INTEGER, "/", -1),
    ],
)
def test_integers_beyond_64_bits_are_errors(left: int, operator: str, right: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        OPERATORS[operator](left, right)
    assert caught.value.number == OVERFLOW


def test_decimal_infinities_without_an_answer_give_nan() -> None:
    infinity = Decimal("Infinity")
    assert subtract(infinity, infinity).is_nan()


def test_the_thread_decimal_context_does_not_matter() -> None:
    with localcontext() as context:
        context.prec = 3
        assert add(Decimal("1234.5"), Decimal("0.01")) == Decimal("1234.51")
        assert negate(Decimal("1234.5")) == Decimal("-1234.5")
    assert getcontext().prec == 28


@pytest.mark.parametrize(
    ("operand", "result"),
    [
        (5, -5),
        (2.5, -2.5),
        (Decimal("1.5"), Decimal("-1.5")),
        (None, None),
        (Interval(5, Qualifier.MONTH), Interval(-5, Qualifier.MONTH)),
    ],
)
def test_negate(operand: Any, result: Any) -> None:
    assert negate(operand) == result


@pytest.mark.parametrize("operand", ["5", True, b"", MIN_INTEGER])
def test_negate_refuses(operand: Any) -> None:
    with pytest.raises(ExpressionError):
        negate(operand)


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [("a", "b", "ab"), (b"a", b"b", b"ab"), (Bits("01"), Bits("1"), Bits("011")), ("a", None, None)],
)
def test_concatenate(left: Any, right: Any, result: Any) -> None:
    assert concatenate(left, right) == result


@pytest.mark.parametrize(("left", "right"), [("a", 1), ("a", b"b"), (1, 2), (Bits("1"), b"a")])
def test_concatenate_refuses(left: Any, right: Any) -> None:
    with pytest.raises(ExpressionError, match=r"\|\|"):
        concatenate(left, right)


def interval(text: str, words: str) -> Interval:
    return to_interval(text, Qualifier(words))


@pytest.mark.parametrize(
    ("start", "text", "words", "end"),
    [
        (date(2000, 3, 29), "1", "MONTH", date(2000, 4, 29)),
        (date(2000, 1, 31), "1", "MONTH", date(2000, 2, 29)),
        (date(2001, 1, 31), "1", "MONTH", date(2001, 2, 28)),
        (date(1953, 6, 1), "65", "YEAR", date(2018, 6, 1)),
        (date(2000, 2, 29), "-1", "YEAR", date(1999, 2, 28)),
        (date(2000, 12, 15), "1-01", "YEAR TO MONTH", date(2002, 1, 15)),
        (date(2000, 1, 1), "36", "HOUR", date(2000, 1, 2)),
        (time(23, 30), "1", "HOUR", time(0, 30)),
        (GmtTime(time(0, 30)), "-45", "MINUTE", GmtTime(time(23, 45))),
        (datetime(1999, 12, 31, 23, 59, 59), "1", "SECOND", datetime(2000, 1, 1)),
        (datetime(2000, 1, 1), "0.000001", "SECOND", datetime(2000, 1, 1, 0, 0, 0, 1)),
        (GmtTimestamp(datetime(2000, 1, 1)), "1 12", "DAY TO HOUR", GmtTimestamp(datetime(2000, 1, 2, 12))),
    ],
)
def test_datetime_plus_interval(start: Any, text: str, words: str, end: Any) -> None:
    step = interval(text, words)
    assert add(start, step) == end
    assert add(step, start) == end
    assert subtract(start, negate(step)) == end


def test_months_do_not_go_with_times() -> None:
    with pytest.raises(ExpressionError):
        add(time(1), interval("1", "MONTH"))


def test_beyond_the_calendar_is_an_error() -> None:
    with pytest.raises(ExpressionError) as caught:
        add(date(9999, 12, 31), interval("1", "DAY"))
    assert caught.value.number == OVERFLOW
    with pytest.raises(ExpressionError):
        subtract(date(1, 1, 1), interval("1", "MONTH"))


def test_sum_of_intervals_has_the_fields_of_both() -> None:
    total = add(interval("2 01", "DAY TO HOUR"), interval("123:59", "MINUTE TO SECOND"))
    assert total.qualifier is Qualifier.DAY_TO_SECOND
    assert total.text() == "2 03:03:59"


def test_intervals_of_two_families_do_not_add() -> None:
    with pytest.raises(ExpressionError):
        add(interval("1-06", "YEAR TO MONTH"), interval("20", "DAY"))


@pytest.mark.parametrize(
    ("factor", "text"), [(3, "4-06"), (0.5, "0-09"), (Decimal(-1), "-1-06"), (0, "0-00")], ids=repr
)
def test_scaled_intervals_keep_their_fields(factor: Any, text: str) -> None:
    start = interval("1-06", "YEAR TO MONTH")
    assert multiply(start, factor) == multiply(factor, start) == interval(text, "YEAR TO MONTH")


def test_divided_interval() -> None:
    assert divide(interval("90", "SECOND"), 4) == interval("22.5", "SECOND")
    assert divide(interval("10", "DAY"), 0.1) == interval("100", "DAY")
    assert divide(interval("3", "DAY"), 2) == interval("1", "DAY")


@pytest.mark.parametrize("number", [float("inf"), float("nan"), Decimal("Infinity")], ids=repr)
def test_intervals_do_not_take_infinities(number: Any) -> None:
    with pytest.raises(ExpressionError):
        multiply(interval("1", "DAY"), number)
    with pytest.raises(ExpressionError):
        divide(interval("1", "DAY"), number)


@pytest.mark.parametrize(
    ("left", "right", "words", "text"),
    [
        (date(2000, 3, 1), date(2000, 2, 1), "DAY", "29"),
        (date(2000, 2, 1), date(2000, 3, 1), "DAY", "-29"),
        (date(2000, 3, 31), date(2000, 2, 29), "MONTH", "1"),
        (date(2000, 3, 30), date(2000, 1, 31), "MONTH", "1"),
        (date(2018, 6, 1), date(1953, 6, 1), "YEAR TO MONTH", "65-00"),
        (date(2018, 5, 31), date(1953, 6, 1), "YEAR", "64"),
        (time(9), time(17, 30), "HOUR TO MINUTE", "-8:30"),
        (datetime(2000, 1, 2), datetime(2000, 1, 1, 22, 30), "MINUTE", "90"),
        (datetime(2000, 1, 2), datetime(2000, 1, 1, 22, 30), "HOUR", "1"),
        (GmtTime(time(2)), GmtTime(time(1)), "SECOND", "3600"),
        (interval("2", "DAY"), interval("1", "HOUR"), "HOUR", "47"),
    ],
)
def test_difference(left: Any, right: Any, words: str, text: str) -> None:
    assert difference(left, right, Qualifier(words)) == interval(text, words)


def test_difference_across_zones(zone: Callable[[str], None]) -> None:
    zone("EST5")
    gmt = GmtTimestamp(datetime(2000, 1, 1, 12))
    assert difference(datetime(2000, 1, 1, 8), gmt, Qualifier.HOUR) == interval("1", "HOUR")
    assert difference(GmtTime(time(12)), time(6), Qualifier.HOUR) == interval("1", "HOUR")


def test_difference_needs_two_alike() -> None:
    for left, right, words in [
        (date(2000, 1, 1), datetime(2000, 1, 1), "DAY"),
        (time(1), time(2), "MONTH"),
        (interval("1", "DAY"), interval("1", "DAY"), "MONTH"),
        (1, 2, "DAY"),
    ]:
        with pytest.raises(ExpressionError):
            difference(left, right, Qualifier(words))


def test_difference_of_null_is_null() -> None:
    assert difference(None, date(2000, 1, 1), Qualifier.DAY) is None


def test_a_difference_without_fields_is_told_what_it_lacks() -> None:
    with pytest.raises(ExpressionError, match=r"\(a - b\) DAY"):
        subtract(date(2000, 1, 2), date(2000, 1, 1))


@given(st.datetimes(datetime(1000, 1, 1), datetime(3000, 1, 1)), st.integers(-(10**15), 10**15))
def test_what_is_added_is_the_difference(start: datetime, amount: int) -> None:
    step = Interval(amount, Qualifier.DAY_TO_SECOND)
    end = add(start, step)
    assert difference(end, start, Qualifier.DAY_TO_SECOND) == step
    assert subtract(end, step) == start


@given(st.integers(-(2**62), 2**62), st.integers(-(2**62), 2**62).filter(bool))
def test_integer_division_is_cut_towards_zero(left: int, right: int) -> None:
    quotient = divide(left, right)
    rest = left - quotient * right
    assert abs(rest) < abs(right)
    assert rest == 0 or (rest < 0) is (left < 0)
