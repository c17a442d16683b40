"""Exceptions as a program sees them: THROW, handlers, LOG."""

import re
from functools import lru_cache
from typing import Any

from heliograph.errors import Problem
from heliograph.flow.esql.database_access import DatabaseError
from heliograph.flow.esql.evaluation import Evaluation, LogEntry
from heliograph.flow.values.errors import (
    CAST_FAILED,
    DIVIDE_BY_ZERO,
    NOT_A_DECIMAL,
    NOT_A_FLOAT,
    NOT_AN_INTEGER,
    OVERFLOW,
    USER_EXCEPTION,
    UserError,
)

BROKER_CATALOG = "BIPmsgs"

# SQL's own states, for errors that SQL knows too.
_STATES = {
    OVERFLOW: "S22003",
    DIVIDE_BY_ZERO: "S22012",
    CAST_FAILED: "S22018",
    NOT_AN_INTEGER: "S22018",
    NOT_A_FLOAT: "S22018",
    NOT_A_DECIMAL: "S22018",
}


class Thrown(UserError):
    """What THROW raises, with the severity and the catalogue that it names."""

    severity: int = 1
    catalog: str = BROKER_CATALOG


def thrown(severity: Any = None, catalog: Any = None, number: Any = None, values: tuple[Any, ...] = ()) -> Thrown:
    """The exception of a THROW statement."""
    shown = ", ".join("NULL" if value is None else str(value) for value in values)
    error = Thrown(USER_EXCEPTION if number is None else number, shown or "the program threw an exception", values)
    error.severity = 1 if severity is None else severity
    error.catalog = BROKER_CATALOG if catalog is None else catalog
    return error


def state_of(error: Problem) -> str:
    """The SQLSTATE of an exception.

    D and five characters if a database raised it, U and a number if the program did, S and SQL's own state or a number
    for the rest.
    """
    reason = getattr(error, "reason", error)
    if isinstance(reason, DatabaseError):
        return f"D{reason.state}"
    number = getattr(reason, "number", 0)
    if isinstance(reason, UserError):
        return f"U{number:05d}"
    return _STATES.get(number, f"S{number:05d}")


def caught(evaluation: Evaluation, error: Problem) -> str:
    """Let the program see an exception in SQLSTATE and its like; gives the state."""
    reason = getattr(error, "reason", error)
    evaluation.sqlstate = state_of(error)
    evaluation.sqlerrortext = str(reason)
    if isinstance(reason, DatabaseError):
        evaluation.sqlcode, evaluation.sqlnativeerror = reason.code, reason.native
    else:
        evaluation.sqlcode, evaluation.sqlnativeerror = -getattr(reason, "number", 1), 0
    return evaluation.sqlstate


def state_like(state: str, pattern: str, escape: str = "\\") -> bool:
    """Whether a state is as SQLSTATE LIKE says."""
    return _pattern(pattern, escape).fullmatch(state) is not None


@lru_cache(maxsize=256)
def _pattern(pattern: str, escape: str) -> re.Pattern[str]:
    parts, characters = [], iter(pattern)
    for character in characters:
        if character == escape:
            parts.append(re.escape(next(characters, "")))
        else:
            parts.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    return re.compile("".join(parts), re.DOTALL)


def log(
    evaluation: Evaluation,
    trace: bool,
    exception: Problem | None = None,
    full: bool = False,
    severity: Any = None,
    catalog: Any = None,
    number: Any = None,
    values: tuple[Any, ...] = (),
) -> None:
    """LOG."""
    evaluation.log(
        LogEntry(
            trace,
            0 if severity is None else severity,
            BROKER_CATALOG if catalog is None else catalog,
            USER_EXCEPTION if number is None else number,
            values,
            exception,
            full,
        )
    )
