"""How operators refuse operands: the errors that all of them raise."""

from typing import Any, NoReturn

from heliograph.flow.language.values.errors import DIVIDE_BY_ZERO, INCOMPATIBLE_TYPES, OVERFLOW, ExpressionError
from heliograph.flow.language.values.text import character
from heliograph.flow.language.values.types import type_of


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
