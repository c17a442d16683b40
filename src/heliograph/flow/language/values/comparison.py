"""Comparing values: `=`, `<>`, `<`, `<=`, `>`, `>=`, IN, BETWEEN, LIKE and the IS tests.

The answer is True, False, or None if an operand is NULL. Operands of two types are made alike first:

- CHARACTER becomes whatever the other is; an error if it cannot.
- INTEGER with FLOAT or DECIMAL, and DECIMAL with FLOAT, become the latter.
- GMTTIME and GMTTIMESTAMP become local; DATE becomes a timestamp of its midnight.

All else is an error. Policy: characters are ordered by code point after trailing blanks are taken off; NAN is equal to
nothing and neither before nor behind anything; FALSE is before TRUE; BLOB and BIT are ordered like dictionaries.
"""

import math
from collections.abc import Callable, Iterable
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from typing import Any

from heliograph.common.like_pattern import like_matcher
from heliograph.flow.errors import BAD_ARGUMENT, INCOMPATIBLE_TYPES, ExpressionError
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.literals import FROM_TEXT, to_interval
from heliograph.flow.language.values.times import GmtTime, GmtTimestamp, Interval, time_to_local, to_local
from heliograph.flow.language.values.types import refuse, type_of


def equal(left: Any, right: Any) -> bool | None:
    """`left = right`."""
    kind = type(left)
    if kind is type(right):
        if kind is str:
            return left == right or (len(left) != len(right) and left.rstrip(" ") == right.rstrip(" "))
        if kind in _ALIKE:
            return left == right  # type: ignore[no-any-return]
    pair = _align(left, right, "=")
    return None if pair is None else pair[0] == pair[1]


def not_equal(left: Any, right: Any) -> bool | None:
    """`left <> right`."""
    kind = type(left)
    if kind is type(right):
        if kind is str:
            return left != right and (len(left) == len(right) or left.rstrip(" ") != right.rstrip(" "))
        if kind in _ALIKE:
            return left != right  # type: ignore[no-any-return]
    pair = _align(left, right, "<>")
    return None if pair is None else pair[0] != pair[1]


def less(left: Any, right: Any) -> bool | None:
    """`left < right`."""
    kind = type(left)
    if kind is type(right) and kind in _ALIKE:
        return left < right  # type: ignore[no-any-return]
    pair = _align(left, right, "<")
    return None if pair is None else pair[0] < pair[1]


def less_or_equal(left: Any, right: Any) -> bool | None:
    """`left <= right`."""
    kind = type(left)
    if kind is type(right) and kind in _ALIKE:
        return left <= right  # type: ignore[no-any-return]
    pair = _align(left, right, "<=")
    return None if pair is None else pair[0] <= pair[1]


def greater(left: Any, right: Any) -> bool | None:
    """`left > right`."""
    kind = type(left)
    if kind is type(right) and kind in _ALIKE:
        return left > right  # type: ignore[no-any-return]
    pair = _align(left, right, ">")
    return None if pair is None else pair[0] > pair[1]


def greater_or_equal(left: Any, right: Any) -> bool | None:
    """`left >= right`."""
    kind = type(left)
    if kind is type(right) and kind in _ALIKE:
        return left >= right  # type: ignore[no-any-return]
    pair = _align(left, right, ">=")
    return None if pair is None else pair[0] >= pair[1]


def in_(value: Any, items: Iterable[Any]) -> bool | None:
    """TRUE if equal to one; else UNKNOWN if a comparison with one was; items after an equal one are not looked at."""
    unknown = False
    for item in items:
        same = equal(value, item)
        if same:
            return True
        unknown = unknown or same is None
    return None if unknown else False


def between(value: Any, low: Any, high: Any) -> bool | None:
    """`low <= value AND value <= high`."""
    above = greater_or_equal(value, low)
    if above is False:
        return False
    below = less_or_equal(value, high)
    return below if above or below is False else None


def between_symmetric(value: Any, one: Any, other: Any) -> bool | None:
    """As `between`, whichever of the two limits is the lower."""
    first = between(value, one, other)
    if first:
        return True
    second = between(value, other, one)
    return second if first is False or second else None


def like(value: Any, pattern: Any, escape: Any = "\\") -> bool | None:
    """Whether a text is as the pattern says: `%` any characters, `_` one, either as it is after `escape`."""
    if value is None or pattern is None or escape is None:
        return None
    for operand in (value, pattern, escape):
        if type(operand) is not str:
            refuse("LIKE", value, pattern)
    return _like_matcher(pattern, escape)(value)


@lru_cache(maxsize=1000)
def _like_matcher(pattern: str, escape: str) -> Callable[[str], bool]:
    if len(escape) != 1:
        raise ExpressionError(BAD_ARGUMENT, f"ESCAPE takes one character, not '{escape}'", (escape,))
    return like_matcher(pattern, escape)


def is_null(value: Any) -> bool:
    """`value IS NULL`: never UNKNOWN."""
    return value is None


def is_inf(value: Any, sign: int = 0) -> bool:
    """IS INF, or with a sign of 1 or -1: IS +INF, IS -INF."""
    if type(value) is not float and type(value) is not Decimal:
        return False
    return math.isinf(value) and (not sign or (value > 0) is (sign > 0))


def is_nan(value: Any) -> bool:
    """`value IS NAN`: never UNKNOWN."""
    return (type(value) is float or type(value) is Decimal) and math.isnan(value)


def is_num(value: Any) -> bool:
    """IS NUM: a number that is neither INF nor NAN."""
    return type(value) is int or ((type(value) is float or type(value) is Decimal) and math.isfinite(value))


# Types whose values Python compares as ESQL does. Not DECIMAL, whose NAN raises; nor str, with its trailing blanks.
_ALIKE = frozenset({int, float, bytes, bool, Bits, date, time, datetime, GmtTime, GmtTimestamp})

_Pair = tuple[Any, Any]


def _align(left: Any, right: Any, operator: str) -> _Pair | None:
    """The operands as two Python values that compare as ESQL does; None if one is NULL."""
    one, other = type(left), type(right)
    if one is str:
        read = FROM_TEXT.get(other)
        if read is not None:
            left, one = read(left), other
            if other in _ALIKE and left is not None:
                return left, right
        elif other is str:
            return left.rstrip(" "), right.rstrip(" ")
        elif other is Interval:
            return to_interval(left, right.qualifier).amount, right.amount
    elif other is str:
        read = FROM_TEXT.get(one)
        if read is not None:
            right, other = read(right), one
            if one in _ALIKE and right is not None:
                return left, right
        elif one is Interval:
            return left.amount, to_interval(right, left.qualifier).amount
    if left is None or right is None:
        return None
    align = _PAIRS.get((one, other))
    if align is None:
        refuse(operator, left, right)
    return align(left, right)


def _decimals(left: Decimal | int, right: Decimal | int) -> _Pair:
    # Python's comparison of a decimal NAN raises; that of a float NAN says what we want.
    return (math.nan, 0.0) if math.isnan(left) or math.isnan(right) else (left, right)


def _floats(left: float | Decimal, right: float | Decimal) -> _Pair:
    return float(left), float(right)


def _intervals(left: Interval, right: Interval) -> _Pair:
    if left.is_year_month is not right.is_year_month:
        refuse("comparison", left, right)
    return left.amount, right.amount


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)


_PAIRS: dict[tuple[type, type], Callable[[Any, Any], _Pair]] = {
    (Decimal, Decimal): _decimals,
    (int, Decimal): _decimals,
    (Decimal, int): _decimals,
    (int, float): _floats,
    (float, int): _floats,
    (Decimal, float): _floats,
    (float, Decimal): _floats,
    (Interval, Interval): _intervals,
    (time, GmtTime): lambda left, right: (left, time_to_local(right)),
    (GmtTime, time): lambda left, right: (time_to_local(left), right),
    (datetime, GmtTimestamp): lambda left, right: (left, to_local(right)),
    (GmtTimestamp, datetime): lambda left, right: (to_local(left), right),
    (date, datetime): lambda left, right: (_midnight(left), right),
    (datetime, date): lambda left, right: (left, _midnight(right)),
    (date, GmtTimestamp): lambda left, right: (_midnight(left), to_local(right)),
    (GmtTimestamp, date): lambda left, right: (to_local(left), _midnight(right)),
}


# Three-valued logic: TRUE, FALSE, and UNKNOWN, which is NULL.
#
# AND and OR do not evaluate their right side where the left decides: the compiler does that, and calls
# `and_` and `or_` where both sides are at hand. Policy: operands other than BOOLEAN are errors, texts included.


def boolean(operand: Any, operator: str) -> bool | None:
    """The operand itself, if it is one that `operator` takes."""
    if operand is True or operand is False or operand is None:
        return operand
    kind = type_of(operand).value
    raise ExpressionError(INCOMPATIBLE_TYPES, f"{operator} takes BOOLEAN, not {kind}", (operator, kind))


def and_(left: Any, right: Any) -> bool | None:
    """`left AND right`, in three-valued logic."""
    if boolean(left, "AND") is False or boolean(right, "AND") is False:
        return False
    return None if left is None or right is None else True


def or_(left: Any, right: Any) -> bool | None:
    """`left OR right`, in three-valued logic."""
    if boolean(left, "OR") is True or boolean(right, "OR") is True:
        return True
    return None if left is None or right is None else False


def not_(operand: Any) -> bool | None:
    """`NOT operand`; UNKNOWN stays UNKNOWN."""
    return None if boolean(operand, "NOT") is None else not operand


def is_true(operand: Any) -> bool:
    """`operand IS TRUE`: never UNKNOWN."""
    return boolean(operand, "IS TRUE") is True


def is_false(operand: Any) -> bool:
    """`operand IS FALSE`: never UNKNOWN."""
    return boolean(operand, "IS FALSE") is False


def is_unknown(operand: Any) -> bool:
    """`operand IS UNKNOWN`: never UNKNOWN."""
    return boolean(operand, "IS UNKNOWN") is None
