"""Exceptions as a program sees them: THROW, handlers, LOG."""

from typing import Any

from heliograph.errors import Problem
from heliograph.flow.errors import (
    BAD_ARGUMENT,
    BROKER_CATALOG,
    CAST_FAILED,
    DIVIDE_BY_ZERO,
    NOT_A_DECIMAL,
    NOT_A_FLOAT,
    NOT_AN_INTEGER,
    OVERFLOW,
    TOO_DEEP,
    USER_EXCEPTION,
    DatabaseError,
    DownstreamFailure,
    EsqlError,
    ExpressionError,
    ThrowError,
    UserError,
)
from heliograph.flow.language.esql.runtime.evaluation import Evaluation, LogEntry
from heliograph.flow.language.values.comparison import like
from heliograph.flow.language.values.types import character, type_of

# LEAVE and ITERATE of an outer loop, for which Python has no statement.


def jump(label: str) -> type[Exception]:
    """An exception that takes the program to a label; nothing else catches it."""
    return type(f"Jump_{label}", (Exception,), {})


FAILURES = (Problem, RecursionError)
"""What handlers can handle."""

# SQL's own states, for errors that SQL knows too.
_STATES = {
    OVERFLOW: "S22003",
    DIVIDE_BY_ZERO: "S22012",
    CAST_FAILED: "S22018",
    NOT_AN_INTEGER: "S22018",
    NOT_A_FLOAT: "S22018",
    NOT_A_DECIMAL: "S22018",
}


def thrown(severity: Any = None, catalog: Any = None, number: Any = None, values: tuple[Any, ...] = ()) -> ThrowError:
    """The exception of a THROW statement."""
    shown = ", ".join("NULL" if value is None else character(value) for value in values)
    number = _of_type(int, "MESSAGE", number, USER_EXCEPTION)
    error = ThrowError(number, shown or "the program threw an exception", values)
    error.severity = _of_type(int, "SEVERITY", severity, 1)
    error.catalog = _of_type(str, "CATALOG", catalog, BROKER_CATALOG)
    return error


def _of_type(wanted: type, clause: str, value: Any, default: Any) -> Any:
    """The value of a clause of THROW or LOG."""
    if value is not None and type(value) is not wanted:
        needed = "an INTEGER" if wanted is int else "CHARACTER"
        raise ExpressionError(BAD_ARGUMENT, f"{clause} is {needed}, not {type_of(value).value}", (clause, value))
    return default if value is None else value


def reason_of(error: Problem | RecursionError) -> BaseException:
    """Return the original error, without the wrappers for its statement or the node behind a PROPAGATE."""
    if isinstance(error, RecursionError):
        return EsqlError(TOO_DEEP, "routines call each other too deep")
    reason = getattr(error, "reason", None)
    return error if reason is None else getattr(reason, "reason", None) or reason


def state_of(error: Problem | RecursionError) -> str:
    """The SQLSTATE of an exception.

    D and five characters if a database raised it; what THROW says, or else U and a number, if the program did; S and
    SQL's own state or a number for the rest.
    """
    reason = reason_of(error)
    if isinstance(reason, ThrowError) and reason.sql is not None:
        return reason.sql[1]
    if isinstance(reason, DatabaseError):
        return f"D{reason.state}"
    number = _number(error, reason)
    if isinstance(reason, UserError):
        return f"U{number:05d}"
    return _STATES.get(number, f"S{number:05d}")


def _number(error: BaseException, reason: BaseException) -> int:
    number: int = getattr(error if isinstance(error, DownstreamFailure) else reason, "number", 0)
    return number


def caught(evaluation: Evaluation, error: Problem | RecursionError) -> str:
    """Let the program see an exception in SQLSTATE and its like; gives the state."""
    reason = reason_of(error)
    evaluation.sqlstate = state_of(error)
    evaluation.sqlerrortext = str(error if isinstance(error, DownstreamFailure) else reason)
    if isinstance(reason, ThrowError) and reason.sql is not None:
        evaluation.sqlcode, _, evaluation.sqlnativeerror, evaluation.sqlerrortext = reason.sql
    elif isinstance(reason, DatabaseError):
        evaluation.sqlcode, evaluation.sqlnativeerror = reason.code, reason.native
    else:
        evaluation.sqlcode, evaluation.sqlnativeerror = -(_number(error, reason) or 1), 0
    return evaluation.sqlstate


def state_like(state: str, pattern: str, escape: str = "\\") -> bool:
    """Whether a state is as SQLSTATE LIKE says."""
    return like(state, pattern, escape) is True


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
            _of_type(int, "SEVERITY", severity, 0),
            _of_type(str, "CATALOG", catalog, BROKER_CATALOG),
            _of_type(int, "MESSAGE", number, USER_EXCEPTION),
            values,
            exception,
            full,
        )
    )
