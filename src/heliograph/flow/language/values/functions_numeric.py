"""Numeric functions of ESQL.

Policy:
- Arguments must be numbers: CHARACTER is refused, as it is in arithmetic.
- Trigonometry, logarithms, EXP, POWER with a FLOAT, RAND, and SQRT unless it is of a DECIMAL, give FLOAT; an argument
  without an answer (SQRT of -1, LN of 0) is an error.
- MOD has the sign of its first argument, is INTEGER only, and MOD by zero is divide by zero.
- ROUND, TRUNCATE, FLOOR, CEILING keep the type of their first argument; places may be negative. ROUND of a FLOAT works
  on its 15 digits, so that 2.345 to two places is 2.35. Without a mode DECIMAL is rounded half even, FLOAT and INTEGER
  half up.
- SIGN is INTEGER -1, 0 or 1. BIT functions work on 64 bits, two's complement.
"""

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from operator import and_, or_, xor
from random import Random
from typing import Any, NoReturn

from heliograph.flow.errors import BAD_ARGUMENT, INCOMPATIBLE_TYPES, OVERFLOW, ExpressionError
from heliograph.flow.language.values.arithmetic import integer_quotient
from heliograph.flow.language.values.literals import MAX_INTEGER, MIN_INTEGER
from heliograph.flow.language.values.types import (
    CONTEXT,
    EXACT,
    character,
    divide_by_zero,
    from_float,
    propagates_null,
    type_of,
)

_MODES = {
    "ROUND_UP": decimal.ROUND_UP,
    "ROUND_DOWN": decimal.ROUND_DOWN,
    "ROUND_CEILING": decimal.ROUND_CEILING,
    "ROUND_FLOOR": decimal.ROUND_FLOOR,
    "ROUND_HALF_UP": decimal.ROUND_HALF_UP,
    "ROUND_HALF_EVEN": decimal.ROUND_HALF_EVEN,
    "ROUND_HALF_DOWN": decimal.ROUND_HALF_DOWN,
}


@propagates_null
def absolute(number: Any) -> Any:
    """ABS."""
    _check("ABS", number)
    if type(number) is int:
        return _integer("ABS", abs(number))
    return number.copy_abs() if type(number) is Decimal else abs(number)


@propagates_null
def sign(number: Any) -> int:
    """SIGN: -1, 0 or 1."""
    _check("SIGN", number)
    if math.isnan(number):
        _no_answer("SIGN", number)
    return int(number > 0) - int(number < 0)


@propagates_null
def mod(dividend: Any, divisor: Any) -> int:
    """MOD: the rest of a division of INTEGERs, with the sign of the dividend."""
    _whole("MOD", dividend, divisor)
    if not divisor:
        divide_by_zero("MOD", dividend, divisor)
    result: int = dividend - divisor * integer_quotient(dividend, divisor)
    return result


@propagates_null
def power(base: Any, exponent: Any) -> Any:
    """INTEGER of INTEGERs with an exponent that is not negative, DECIMAL of a DECIMAL and an INTEGER, else FLOAT."""
    _check("POWER", base, exponent)
    if type(exponent) is int:
        if type(base) is int and exponent >= 0:
            if abs(base) > 1 and exponent > 64:
                _too_large("POWER", base, exponent)
            return _integer("POWER", base**exponent if abs(base) > 1 else base ** (2 - exponent % 2 if exponent else 0))
        if type(base) is Decimal:
            if not base and exponent < 0:
                divide_by_zero("POWER", base, exponent)
            return CONTEXT.power(base, exponent)
    try:
        return math.pow(float(base), float(exponent))
    except ValueError:
        _no_answer("POWER", base, exponent)
    except OverflowError:
        _too_large("POWER", base, exponent)


@propagates_null
def square_root(number: Any) -> Any:
    """SQRT."""
    _check("SQRT", number)
    if math.isnan(number) or number < 0:
        _no_answer("SQRT", number)
    return CONTEXT.sqrt(number) if type(number) is Decimal else math.sqrt(number)


@propagates_null
def floor(number: Any) -> Any:
    """FLOOR."""
    return _to_whole("FLOOR", number, decimal.ROUND_FLOOR)


@propagates_null
def ceiling(number: Any) -> Any:
    """CEIL, CEILING."""
    return _to_whole("CEILING", number, decimal.ROUND_CEILING)


@propagates_null
def round_(number: Any, places: Any, mode: str = "") -> Any:
    """ROUND(number, places MODE mode)."""
    _check("ROUND", number)
    _whole("ROUND", places)
    mode = mode or ("ROUND_HALF_EVEN" if type(number) is Decimal else "ROUND_HALF_UP")
    if mode not in _MODES:
        raise ExpressionError(BAD_ARGUMENT, f"ROUND has no MODE {mode}", (mode,))
    return _round("ROUND", number, places, _MODES[mode])


@propagates_null
def truncate(number: Any, places: Any) -> Any:
    """TRUNCATE: digits behind a place are cut off."""
    _check("TRUNCATE", number)
    _whole("TRUNCATE", places)
    return _round("TRUNCATE", number, places, decimal.ROUND_DOWN)


@propagates_null
def atan2(y: Any, x: Any) -> float:
    """ATAN2."""
    _check("ATAN2", y, x)
    return math.atan2(y, x)


@propagates_null
def cotangent(angle: Any) -> float:
    """COT."""
    _check("COT", angle)
    tangent = math.tan(angle) if math.isfinite(angle) else _no_answer("COT", angle)
    return 1 / tangent if tangent else divide_by_zero("COT", 1, angle)


@propagates_null
def random_number(seed: Any = None) -> float:
    """At least 0, less than 1; the same for the same seed."""
    if seed is None:
        return Random().random()  # noqa: S311 - not for secrets
    _whole("RAND", seed)
    return Random(seed).random()  # noqa: S311


def _of_bits(name: str, work: Callable[[int, int], int]) -> Callable[..., Any]:
    """A function of two or more INTEGERs, bit by bit."""

    @propagates_null
    def function(*numbers: Any) -> int:
        _whole(name, *numbers)
        result: int = reduce(work, numbers)
        return result

    return function


bit_and = _of_bits("BITAND", and_)
bit_or = _of_bits("BITOR", or_)
bit_xor = _of_bits("BITXOR", xor)


@propagates_null
def bit_not(number: Any) -> int:
    """BITNOT of an INTEGER."""
    _whole("BITNOT", number)
    return ~number  # type: ignore[no-any-return]


def of_float(name: str, work: Callable[[float], float]) -> Callable[..., Any]:
    """A function of one number that gives FLOAT."""

    @propagates_null
    def function(number: Any) -> float:
        _check(name, number)
        try:
            return work(number)
        except ValueError:
            _no_answer(name, number)
        except OverflowError:
            _too_large(name, number)

    return function


def _check(name: str, *arguments: Any) -> None:
    for argument in arguments:
        kind = type(argument)
        if kind is not int and kind is not float and kind is not Decimal:
            _refuse(name, "numbers", argument)


def _whole(name: str, *arguments: Any) -> None:
    for argument in arguments:
        if type(argument) is not int:
            _refuse(name, "INTEGER", argument)


def _refuse(name: str, wanted: str, argument: Any) -> NoReturn:
    found = type_of(argument).value
    raise ExpressionError(INCOMPATIBLE_TYPES, f"{name} takes {wanted}, not {found}", (name, found, argument))


def _no_answer(name: str, *arguments: Any) -> NoReturn:
    shown = ", ".join(character(argument) for argument in arguments)
    raise ExpressionError(BAD_ARGUMENT, f"{name}({shown}) has no answer", (name, *arguments))


def _too_large(name: str, *arguments: Any) -> NoReturn:
    shown = ", ".join(character(argument) for argument in arguments)
    raise ExpressionError(OVERFLOW, f"the result of {name}({shown}) does not fit its type", (name, *arguments))


def _integer(name: str, number: int) -> int:
    return number if MIN_INTEGER <= number <= MAX_INTEGER else _too_large(name, number)


def _to_whole(name: str, number: Any, rounding: str) -> Any:
    _check(name, number)
    if type(number) is float and math.isfinite(number):
        return float(math.floor(number) if rounding == decimal.ROUND_FLOOR else math.ceil(number))
    return _round(name, number, 0, rounding)


def _round(name: str, number: Any, places: int, rounding: str) -> Any:
    kind = type(number)
    if (kind is int and places >= 0) or (kind is not int and not math.isfinite(number)):
        return number
    exact = from_float(number) if kind is float else Decimal(number)
    if places < -400 or places > 7000:
        # Beyond what any number has: nothing is left, or nothing changes.
        return kind(0) if places < 0 else number
    unit = Decimal((0, (1,), -places))
    rounded = exact if exact.as_tuple().exponent >= -places else exact.quantize(unit, rounding, EXACT)  # type: ignore[operator]
    if kind is float:
        return float(rounded)
    return _integer(name, int(rounded)) if kind is int else CONTEXT.plus(rounded)
