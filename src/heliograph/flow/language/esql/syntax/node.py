"""What everything in a text has: a place."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Position(NamedTuple):
    """A place in the text; both count from 1."""

    line: int
    column: int


NOWHERE = Position(0, 0)


@dataclass(frozen=True, slots=True)
class Node:
    """Anything in the text."""

    at: Position = field(default=NOWHERE, compare=False, repr=False, kw_only=True)
