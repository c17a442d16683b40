"""How operators refuse operands: the errors that all of them raise."""

from typing import Any, NoReturn

from heliograph.flow.values.errors import DIVIDE_BY_ZERO, INCOMPATIBLE_TYPES, OVERFLOW, ExpressionError
from heliograph.flow.values.text import character
from heliograph.flow.values.types import type_of


def refuse(operator: str, left: Any, right: Any) -> NoReturn:
    one, other = type_of(left).value, type_of(right).value
    raise ExpressionError(
        INCOMPATIBLE_TYPES, f"{operator} does not go with {one} and {other}", (operator, one, other, left, right)
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
