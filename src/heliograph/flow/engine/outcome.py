"""What came of one message."""

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from heliograph.flow.engine.effects import Effect

if TYPE_CHECKING:
    from heliograph.flow.engine.exceptions import ExceptionRecord


class Result(Enum):
    """How the unit of work of one message ends.

    Only after DONE may changes in databases and the aggregation store be committed; after all others they are rolled
    back, and then the effects that the outcome still has are carried out.
    """

    DONE = "done"
    """Carry out the effects, then forget the message."""
    BACKOUT = "backout"
    """Give the message back to where it came from, with a backout count that is one higher."""
    DEAD_LETTER = "dead letter"
    """The effects have the put to the backout or dead-letter queue; carry them out, then forget the message."""
    DISCARDED = "discarded"
    """Forget the message; for files: it has failed. The log says why."""


@dataclass(slots=True)
class LogEvent:
    """Something that an operator should know of."""

    node: str
    text: str
    severity: str = "error"
    """error, warning or information."""


@dataclass(slots=True)
class Outcome:
    """What came of one message: what to do, and how its unit of work ends."""

    result: Result
    effects: list[Effect]
    logged: list[LogEvent] = field(default_factory=list)
    exception: "ExceptionRecord | None" = None
    """Why, if it is not done."""
    transactional: bool = True
    """Whether the message was taken in a unit of work (otherwise it is never given back)."""
    handled: "tuple[ExceptionRecord, ...]" = ()
    """Exceptions that a catch or failure path has taken."""
