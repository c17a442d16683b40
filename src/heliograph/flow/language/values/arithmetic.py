"""`+`, `-`, `*`, `/`, `||` and the minus sign.

NULL with anything gives NULL. INTEGER with FLOAT or DECIMAL, and DECIMAL with FLOAT, become the latter. CHARACTER is no
number here, whatever it looks like: cast it.

Policy:
- INTEGER beyond 64 bits is an error. FLOAT and DECIMAL beyond their range become INF, as IEEE has it.
- INTEGER / INTEGER is cut towards zero. Dividing any number by zero is an error.
- `||` joins two of CHARACTER, BLOB or BIT; both of the same type.
"""

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from heliograph.flow.errors import INCOMPATIBLE_TYPES, ExpressionError
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.datetime_arithmetic import DATETIMES, divide_interval, join, move, scale
from heliograph.flow.language.values.intervals import Interval
from heliograph.flow.language.values.literals import MAX_INTEGER, MIN_INTEGER
from heliograph.flow.language.values.operands import CONTEXT, divide_by_zero, overflow, refuse
from heliograph.flow.language.values.types import type_of
from heliograph.flow.language.values.zone import GmtTime, GmtTimestamp


def add(left: Any, right: Any) -> Any:
    kind = type(left)
    if kind is type(right):
        if kind is float:
            return left + right
        if kind is int:
            result = left + right
            return result if MIN_INTEGER <= result <= MAX_INTEGER else overflow("+", left, right)
    return _calculate("+", left, right)


def subtract(left: Any, right: Any) -> Any:
    """`left - right`, but for two datetimes, which need to be told the fields: see `datetime_arithmetic.difference`."""
    kind = type(left)
    if kind is type(right):
        if kind is float:
            return left - right
        if kind is int:
            result = left - right
            return result if MIN_INTEGER <= result <= MAX_INTEGER else overflow("-", left, right)
    return _calculate("-", left, right)


def multiply(left: Any, right: Any) -> Any:
    kind = type(left)
    if kind is type(right):
        if kind is float:
            return left * right
        if kind is int:
            result = left * right
            return result if MIN_INTEGER <= result <= MAX_INTEGER else overflow("*", left, right)
    return _calculate("*", left, right)


def divide(left: Any, right: Any) -> Any:
    if type(left) is float and type(right) is float and right:
        return left / right
    return _calculate("/", left, right)


def concatenate(left: Any, right: Any) -> Any:
    kind = type(left)
    if kind is type(right) and (kind is str or kind is bytes or kind is Bits):
        return left + right
    if left is None or right is None:
        return None
    return refuse("||", left, right)


def negate(operand: Any) -> Any:
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
