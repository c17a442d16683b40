"""Operands of ESQL: the arithmetic of DECIMAL, and what NULL and wrong types do to operators and functions."""

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, DivisionByZero, InvalidOperation
from fractions import Fraction
from functools import wraps
from typing import Any, NoReturn

from heliograph.flow.errors import DIVIDE_BY_ZERO, INCOMPATIBLE_TYPES, OVERFLOW, ExpressionError
from heliograph.flow.language.values.text import character
from heliograph.flow.language.values.types import type_of

# DECIMAL arithmetic: 34 digits, half even, with infinities and NAN; never by the thread's own decimal context.
#
# Policy: results are rounded to 34 significant digits. An operation that has no answer (INF - INF, 0 / 0 of infinities)
# gives NAN; only dividing by zero is an error.

DIGITS = 34

# Without traps: what is an error in ESQL is looked for before or after, and said with the operands.
CONTEXT = Context(prec=DIGITS, rounding=ROUND_HALF_EVEN, Emin=-6143, Emax=6144, traps=[])
# For shifting and comparing without loss of digits.
EXACT = Context(
    prec=100_000, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[InvalidOperation, DivisionByZero]
)


def from_float(value: float) -> Decimal:
    """A FLOAT as DECIMAL: rounded to the 15 digits that a FLOAT can vouch for."""
    return CONTEXT.create_decimal(f"{value:.15g}")


def fraction(number: float | Decimal) -> Fraction:
    """A finite number without loss, but for FLOAT: that counts by its 15 digits, so that 2.3 is 2.3 and not less."""
    return Fraction(from_float(number) if type(number) is float else number)


# How operators refuse operands: the errors that all of them raise.


def refuse(operator: str, left: Any, right: Any) -> NoReturn:
    one, other = type_of(left).value, type_of(right).value
    hint = ""
    if "CHARACTER" in (one, other) and operator in ("+", "-", "*", "/", "||"):
        # Comparison casts by itself, and these do not: what everybody stumbles over.
        hint = "; CAST the other to CHARACTER" if operator == "||" else "; CAST CHARACTER to a number"
    raise ExpressionError(
        INCOMPATIBLE_TYPES, f"{operator} does not go with {one} and {other}{hint}", (operator, one, other, left, right)
    )


def overflow(operator: str, left: Any, right: Any) -> NoReturn:
    raise ExpressionError(
        OVERFLOW,
        f"the result of {character(left)} {operator} {character(right)} does not fit its type",
        (operator, left, right),
    )


def divide_by_zero(operator: str, left: Any, right: Any) -> NoReturn:
    raise ExpressionError(
        DIVIDE_BY_ZERO,
        f"divide by zero calculating {character(left)} {operator} {character(right)}",
        (f"{character(left)} {operator} {character(right)}",),
    )


# NULL in, NULL out: what nearly every function of ESQL does.


def propagates_null(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, but NULL if an argument is. Arguments that are left out keep their defaults."""

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return None if None in arguments else function(*arguments)

    return call
