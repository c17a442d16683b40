"""`+`, `-`, `*`, `/`, `||` and the minus sign.

NULL with anything gives NULL. INTEGER with FLOAT or DECIMAL, and DECIMAL with FLOAT, become the latter. CHARACTER is no
number here, whatever it looks like: cast it.

Policy:
- INTEGER beyond 64 bits is an error. FLOAT and DECIMAL beyond their range become INF, as IEEE has it.
- INTEGER / INTEGER is cut towards zero. Dividing any number by zero is an error.
- `||` joins two of CHARACTER, BLOB or BIT; both of the same type.
"""

import math
from calendar import monthrange
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from heliograph.flow.errors import INCOMPATIBLE_TYPES, ExpressionError
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.literals import MAX_INTEGER, MIN_INTEGER
from heliograph.flow.language.values.times import (
    GmtTime,
    GmtTimestamp,
    Interval,
    Qualifier,
    of_units,
    shift,
    time_to_gmt,
    to_gmt,
)
from heliograph.flow.language.values.types import CONTEXT, divide_by_zero, fraction, overflow, refuse, type_of

# Datetimes and intervals in sums and differences.
#
# Policy: times go around midnight. A month added to a day that the target month has not gives that month's last day.
# Less than a day added to a DATE is cut off. Year-month intervals do not go with TIME. An interval times or divided by
# a number keeps its fields.


def difference(left: Any, right: Any, qualifier: Qualifier) -> Interval | None:
    """`(left - right) YEAR TO MONTH` and the like, of two datetimes or two intervals.

    Policy: months are counted whole: one is not over before the day and time of `right` are reached.
    """
    if left is None or right is None:
        return None
    one, other = type(left), type(right)
    if one is Interval and other is Interval:
        if not left.is_year_month is right.is_year_month is qualifier.is_year_month:
            refuse("-", left, right)
        return of_units(left.amount - right.amount, qualifier)
    if one in (time, GmtTime) and other in (time, GmtTime):
        if qualifier.is_year_month:
            refuse("-", left, right)
        start, end = _moments(right, left)
    elif one is other is date:
        start, end = datetime.combine(right, time()), datetime.combine(left, time())
    elif one in (datetime, GmtTimestamp) and other in (datetime, GmtTimestamp):
        start, end = _moments(right, left)
    else:
        refuse("-", left, right)
    if qualifier.is_year_month:
        return of_units(_months(start, end), qualifier)
    return of_units((end - start) // timedelta(microseconds=1), qualifier)


def _moments(left: Any, right: Any) -> tuple[datetime, datetime]:
    """Both as moments in one zone: local, or Greenwich if one of them is that."""
    if type(left) is type(right):
        return _moment(left), _moment(right)
    return _moment(_in_gmt(left)), _moment(_in_gmt(right))


def _in_gmt(value: Any) -> Any:
    if type(value) is datetime:
        return to_gmt(value)
    return time_to_gmt(value) if type(value) is time else value


def _moment(value: Any) -> datetime:
    if type(value) is GmtTimestamp:
        return value.moment
    if type(value) is GmtTime:
        value = value.time
    return datetime.combine(date(2000, 1, 1), value) if type(value) is time else value


def _months(start: datetime, end: datetime) -> int:
    if end < start:
        return -_months(end, start)
    months = (end.year - start.year) * 12 + end.month - start.month
    return months - ((end.day, end.time()) < (start.day, start.time()))


def _shift_moment(moment: datetime, interval: Interval, sign: int) -> datetime:
    amount = interval.amount * sign
    try:
        if not interval.is_year_month:
            return moment + timedelta(microseconds=amount)
        year, month = divmod(moment.year * 12 + moment.month - 1 + amount, 12)
        return moment.replace(year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1]))
    except (ValueError, OverflowError):
        overflow("+" if sign > 0 else "-", moment, interval)


def _shift_date(day: date, interval: Interval, sign: int) -> date:
    return _shift_moment(datetime.combine(day, time()), _whole_days(interval), sign).date()


def _whole_days(interval: Interval) -> Interval:
    return interval if interval.is_year_month else of_units(interval.amount, Qualifier.DAY)


def _shift_time(value: time, interval: Interval, sign: int) -> time:
    if interval.is_year_month:
        refuse("+" if sign > 0 else "-", value, interval)
    return shift(value, timedelta(microseconds=interval.amount * sign % 86_400_000_000))


def _shift_gmt_time(value: GmtTime, interval: Interval, sign: int) -> GmtTime:
    return GmtTime(_shift_time(value.time, interval, sign))


def _shift_gmt_timestamp(value: GmtTimestamp, interval: Interval, sign: int) -> GmtTimestamp:
    return GmtTimestamp(_shift_moment(value.moment, interval, sign))


def join(left: Interval, right: Interval, sign: int) -> Interval:
    """Two intervals added (`sign` 1) or subtracted (-1); the result has the fields of both."""
    try:
        qualifier = left.qualifier.with_fields_of(right.qualifier)
    except ValueError:
        refuse("+" if sign > 0 else "-", left, right)
    return Interval(left.amount + sign * right.amount, qualifier)


def scale(interval: Interval, factor: Any) -> Interval:
    """An interval times a number."""
    return of_units(math.trunc(interval.amount * _fraction("*", interval, factor)), interval.qualifier)


def divide_interval(interval: Interval, divisor: Any) -> Interval:
    """An interval divided by a number."""
    if not divisor:
        divide_by_zero("/", interval, divisor)
    return of_units(math.trunc(interval.amount / _fraction("/", interval, divisor)), interval.qualifier)


def _fraction(operator: str, interval: Interval, number: float | Decimal) -> Fraction:
    if not math.isfinite(number):
        overflow(operator, interval, number)
    return fraction(number)


_SHIFTS: dict[type, Callable[[Any, Interval, int], Any]] = {
    date: _shift_date,
    time: _shift_time,
    datetime: _shift_moment,
    GmtTime: _shift_gmt_time,
    GmtTimestamp: _shift_gmt_timestamp,
}


def move(value: Any, interval: Interval, sign: int) -> Any:
    """A datetime and an interval added (`sign` 1) or subtracted (-1)."""
    return _SHIFTS[type(value)](value, interval, sign)


DATETIMES = tuple(_SHIFTS)


def add(left: Any, right: Any) -> Any:
    """`left + right`."""
    kind = type(left)
    if kind is type(right):
        if kind is float:
            return left + right
        if kind is int:
            result = left + right
            return result if MIN_INTEGER <= result <= MAX_INTEGER else overflow("+", left, right)
    return _calculate("+", left, right)


def subtract(left: Any, right: Any) -> Any:
    """`left - right`, but not for two datetimes: their difference needs fields (see `difference`)."""
    kind = type(left)
    if kind is type(right):
        if kind is float:
            return left - right
        if kind is int:
            result = left - right
            return result if MIN_INTEGER <= result <= MAX_INTEGER else overflow("-", left, right)
    return _calculate("-", left, right)


def multiply(left: Any, right: Any) -> Any:
    """`left * right`."""
    kind = type(left)
    if kind is type(right):
        if kind is float:
            return left * right
        if kind is int:
            result = left * right
            return result if MIN_INTEGER <= result <= MAX_INTEGER else overflow("*", left, right)
    return _calculate("*", left, right)


def divide(left: Any, right: Any) -> Any:
    """`left / right`; of two INTEGERs, cut towards zero."""
    if type(left) is float and type(right) is float and right:
        return left / right
    return _calculate("/", left, right)


def concatenate(left: Any, right: Any) -> Any:
    """`left || right`: two of CHARACTER, BLOB or BIT, both of the same type."""
    kind = type(left)
    if kind is type(right) and (kind is str or kind is bytes or kind is Bits):
        return left + right
    if left is None or right is None:
        return None
    return refuse("||", left, right)


def negate(operand: Any) -> Any:
    """`-value`."""
    kind = type(operand)
    if kind is int:
        return -operand if operand != MIN_INTEGER else overflow("-", 0, operand)
    if kind is float:
        return -operand
    if operand is None:
        return None
    if kind is Decimal:
        return CONTEXT.minus(operand)
    if kind is Interval:
        return Interval(-operand.amount, operand.qualifier)
    name = type_of(operand).value
    raise ExpressionError(INCOMPATIBLE_TYPES, f"- does not go with {name}", ("-", name, operand))


def integer_quotient(left: int, right: int) -> int:
    """Cut towards zero."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) is (right < 0) else -quotient


def _calculate(operator: str, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    work = _OPERATIONS.get((operator, type(left), type(right)))
    if work is None:
        if operator == "-" and (type(left), type(right)) in _DIFFERENCES:
            raise ExpressionError(
                INCOMPATIBLE_TYPES,
                f"{type_of(left).value} - {type_of(right).value} needs the fields of its result: "
                "(a - b) DAY, (a - b) MONTH or the like",
                (operator, type_of(left).value, type_of(right).value),
            )
        refuse(operator, left, right)
    return work(left, right)


def _divide_integers(left: int, right: int) -> int:
    if not right:
        divide_by_zero("/", left, right)
    result = integer_quotient(left, right)
    return result if result <= MAX_INTEGER else overflow("/", left, right)


def _divide_floats(left: Any, right: Any) -> float:
    divisor = float(right)
    if not divisor:
        divide_by_zero("/", left, right)
    return float(left) / divisor


def _divide_decimals(left: Any, right: Any) -> Decimal:
    if not right:
        divide_by_zero("/", left, right)
    return CONTEXT.divide(_decimal(left), _decimal(right))


def _decimal(number: int | Decimal) -> Decimal:
    return CONTEXT.create_decimal(number)


def _table() -> dict[tuple[str, type, type], Callable[[Any, Any], Any]]:
    table: dict[tuple[str, type, type], Callable[[Any, Any], Any]] = {
        ("/", int, int): _divide_integers,
        ("+", Interval, Interval): lambda left, right: join(left, right, 1),
        ("-", Interval, Interval): lambda left, right: join(left, right, -1),
    }
    mixed: list[tuple[type, type]] = [(int, float), (float, int), (Decimal, float), (float, Decimal)]
    for one, other in mixed:
        table["+", one, other] = lambda left, right: float(left) + float(right)
        table["-", one, other] = lambda left, right: float(left) - float(right)
        table["*", one, other] = lambda left, right: float(left) * float(right)
    for one, other in [*mixed, (float, float)]:
        table["/", one, other] = _divide_floats
    exact: list[tuple[type, type]] = [(int, Decimal), (Decimal, int), (Decimal, Decimal)]
    for one, other in exact:
        table["+", one, other] = lambda left, right: CONTEXT.add(_decimal(left), _decimal(right))
        table["-", one, other] = lambda left, right: CONTEXT.subtract(_decimal(left), _decimal(right))
        table["*", one, other] = lambda left, right: CONTEXT.multiply(_decimal(left), _decimal(right))
        table["/", one, other] = _divide_decimals
    for number in (int, float, Decimal):
        table["*", Interval, number] = scale
        table["*", number, Interval] = lambda factor, interval: scale(interval, factor)
        table["/", Interval, number] = divide_interval
    for kind in DATETIMES:
        table["+", kind, Interval] = lambda value, interval: move(value, interval, 1)
        table["+", Interval, kind] = lambda interval, value: move(value, interval, 1)
        table["-", kind, Interval] = lambda value, interval: move(value, interval, -1)
    return table


_OPERATIONS = _table()
_DIFFERENCES: set[tuple[type, type]] = {
    (one, other)
    for family in ((date,), (time, GmtTime), (datetime, GmtTimestamp))
    for one in family
    for other in family
}
