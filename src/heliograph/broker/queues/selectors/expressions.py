"""What a selector says, as a tree. Conditions are true, false or unknown; values may be unknown too."""

from dataclasses import dataclass
from typing import Literal as OneOf

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that is written down. TRUE, FALSE and NULL are conditions too."""

    value: Scalar


@dataclass(frozen=True, slots=True)
class Identifier:
    """A property or header field of the message. As a condition, it is true if the property is."""

    name: str


@dataclass(frozen=True, slots=True)
class Negative:
    """Minus a value."""

    operand: "Value"
    depth: int


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two values and what to do with them."""

    operator: OneOf["+", "-", "*", "/"]
    left: "Value"
    right: "Value"
    depth: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two values compare."""

    operator: OneOf["=", "<>", "<", "<=", ">", ">="]
    left: "Value"
    right: "Value"
    depth: int


@dataclass(frozen=True, slots=True)
class Like:
    """A string has this form, where `%` stands for any characters and `_` for one, unless after the escape."""

    operand: Identifier
    pattern: str
    escape: str


@dataclass(frozen=True, slots=True)
class Among:
    """A string is one of these."""

    operand: Identifier
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IsNull:
    """There is no such property."""

    operand: Identifier


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite."""

    operand: "Condition"
    depth: int


@dataclass(frozen=True, slots=True)
class All:
    """All of them hold (AND)."""

    operands: tuple["Condition", ...]
    depth: int


@dataclass(frozen=True, slots=True)
class Any:
    """At least one of them holds (OR)."""

    operands: tuple["Condition", ...]
    depth: int


Value = Literal | Identifier | Negative | Arithmetic
Condition = Literal | Identifier | Comparison | Like | Among | IsNull | Not | All | Any
Expression = Value | Condition


def depth_of(expression: Expression) -> int:
    """How many levels of operators there are."""
    return getattr(expression, "depth", 0)
