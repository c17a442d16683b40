"""Pieces of Python that the generator puts together."""

from dataclasses import dataclass
from enum import Enum, auto

from heliograph.flow.language.values.types import Type


class Shape(Enum):
    """What a piece of Python gives when it is evaluated."""

    VALUE = auto()
    """A scalar; None is NULL."""
    FIELD = auto()
    """An element of some tree, or None: assigned by copying it."""
    ROW = auto()
    """A new element that nobody else has, or None."""
    FIELDS = auto()
    """A list of elements of some tree."""
    ROWS = auto()
    """A list of new elements."""
    VALUES = auto()
    """A list of scalars and new elements."""


LISTS = frozenset({Shape.FIELDS, Shape.ROWS, Shape.VALUES})


@dataclass(frozen=True, slots=True)
class Code:
    """An expression of Python that can stand anywhere: it has parentheses around it where it needs them."""

    text: str
    type: Type | None = None
    """The type of its values, if it is known."""
    nullable: bool = True
    shape: Shape = Shape.VALUE

    @property
    def is_name(self) -> bool:
        """Whether it can be evaluated twice for the price of nothing."""
        return self.text.replace(".", "_").isidentifier() or self.text.isdecimal()


NULL = Code("None", Type.NULL)
