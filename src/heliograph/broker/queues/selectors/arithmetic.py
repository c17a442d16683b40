"""What compiled selectors call where the kinds of values are not known beforehand. None is unknown."""

from math import isfinite

from heliograph.mapping import Identifier, identifier_to_text

Number = int | float
NUMBERS = frozenset({int, float})
"""Kinds of numbers; `bool` is none of them, although Python counts with it."""
LONGEST_TEXT = 32_768
"""Characters of a string that is gone through for a consumer. LIKE, and whether two properties are equal, is unknown
for longer ones: many consumers may look at each message, and a message may be large."""
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def equal(left: object, right: object) -> bool | None:
    """Whether two values of one kind are equal; all numbers are of one kind."""
    kind = left.__class__
    if kind is str:
        return left == right if right.__class__ is str and len(left) <= LONGEST_TEXT else None  # type: ignore[arg-type]
    if kind is right.__class__:
        return left == right if kind in NUMBERS or kind is bool else None
    return left == right if kind in NUMBERS and right.__class__ in NUMBERS else None


def above(left: Number, right: Number) -> bool | None:
    """Whether one number is greater than another."""
    return left > right if left.__class__ in NUMBERS and right.__class__ in NUMBERS else None


def at_least(left: Number, right: Number) -> bool | None:
    """Whether one number is greater than another, or equal to it."""
    return left >= right if left.__class__ in NUMBERS and right.__class__ in NUMBERS else None


def add(left: Number, right: Number) -> Number | None:
    """The sum, as far as 64 bits reach."""
    return _within(left + right) if left.__class__ in NUMBERS and right.__class__ in NUMBERS else None


def subtract(left: Number, right: Number) -> Number | None:
    """The difference, as far as 64 bits reach."""
    return _within(left - right) if left.__class__ in NUMBERS and right.__class__ in NUMBERS else None


def multiply(left: Number, right: Number) -> Number | None:
    """The product, as far as 64 bits reach."""
    return _within(left * right) if left.__class__ in NUMBERS and right.__class__ in NUMBERS else None


def divide(left: Number, right: Number) -> Number | None:
    """The quotient; of exact numbers it is exact too, cut off towards zero. Nothing can be divided by zero."""
    if not (left.__class__ in NUMBERS and right.__class__ in NUMBERS and right):
        return None
    if left.__class__ is int and right.__class__ is int:
        quotient = abs(left) // abs(right)
        return _within(quotient if (left < 0) is (right < 0) else -quotient)
    return _within(left / right)


def negate(value: Number) -> Number | None:
    """Minus a number."""
    return _within(-value) if value.__class__ in NUMBERS else None


def _within(number: Number) -> Number | None:
    if number.__class__ is int:
        return number if _SMALLEST <= number <= _LARGEST else None
    return number if isfinite(number) else None


def as_text(identifier: Identifier | None) -> str | None:
    """A message or correlation identifier as JMS clients know it."""
    return None if identifier is None else identifier_to_text(identifier)
