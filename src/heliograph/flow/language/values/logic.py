"""Three-valued logic: TRUE, FALSE, and UNKNOWN, which is NULL.

AND and OR do not evaluate their right side where the left decides: whoever compiles them sees to that, and calls `and_`
and `or_` where both sides are at hand. Policy: operands other than BOOLEAN are errors, texts included.
"""

from typing import Any

from heliograph.flow.language.values.errors import INCOMPATIBLE_TYPES, ExpressionError
from heliograph.flow.language.values.types import type_of


def boolean(operand: Any, operator: str) -> bool | None:
    """The operand itself, if it is one that `operator` takes."""
    if operand is True or operand is False or operand is None:
        return operand
    kind = type_of(operand).value
    raise ExpressionError(INCOMPATIBLE_TYPES, f"{operator} takes BOOLEAN, not {kind}", (operator, kind))


def and_(left: Any, right: Any) -> bool | None:
    if boolean(left, "AND") is False or boolean(right, "AND") is False:
        return False
    return None if left is None or right is None else True


def or_(left: Any, right: Any) -> bool | None:
    if boolean(left, "OR") is True or boolean(right, "OR") is True:
        return True
    return None if left is None or right is None else False


def not_(operand: Any) -> bool | None:
    return None if boolean(operand, "NOT") is None else not operand


def is_true(operand: Any) -> bool:
    return boolean(operand, "IS TRUE") is True


def is_false(operand: Any) -> bool:
    return boolean(operand, "IS FALSE") is False


def is_unknown(operand: Any) -> bool:
    return boolean(operand, "IS UNKNOWN") is None
