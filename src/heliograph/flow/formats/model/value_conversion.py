"""Values on their way out: what a field of a model makes of a value of another type.

That is ESQL's implicit cast, but for two things: a date becomes a dateTime at midnight, not at the current time, and
text may be a date or time as XML writes it. Each raises ValueError, with the value as a problem shows it.
"""

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from typing import Any

from heliograph.flow.errors import EsqlError
from heliograph.flow.formats.model.logical import Type
from heliograph.flow.language.values.conversions import convert
from heliograph.flow.language.values.literals import MAX_INTEGER, MIN_INTEGER
from heliograph.flow.language.values.types import Type as EsqlType

MIDNIGHT = datetime(1970, 1, 1)
"""Where ESQL looks for the hours that a date does not have."""


def shown(value: object) -> str:
    """A value as a problem shows it."""
    return "nothing" if value is None else f"{value!r} ({type(value).__name__})"


def integer(text: str) -> int:
    """The integer in digits, with a sign or without, if ESQL's integers can hold it."""
    number = int(text)
    if MIN_INTEGER <= number <= MAX_INTEGER:
        return number
    raise ValueError(text)


def _converted(target: EsqlType, value: Any) -> Any:
    try:
        result = convert(value, target, MIDNIGHT)
    except EsqlError:
        result = None
    if result is None:
        raise ValueError(shown(value))
    return result


def _moment(target: EsqlType, kind: Any, value: Any) -> Any:
    try:
        moment = kind.fromisoformat(value) if isinstance(value, str) else _converted(target, value)
    except ValueError:
        return _converted(target, value)
    return moment if kind is date else moment.replace(tzinfo=None)


as_string: Callable[[Any], str] = partial(_converted, EsqlType.CHARACTER)
as_binary: Callable[[Any], bytes] = partial(_converted, EsqlType.BLOB)

CONVERSIONS: dict[Type, Callable[[Any], Any]] = {
    Type.STRING: as_string,
    Type.INTEGER: partial(_converted, EsqlType.INTEGER),
    Type.DECIMAL: partial(_converted, EsqlType.DECIMAL),
    Type.FLOAT: partial(_converted, EsqlType.FLOAT),
    Type.BOOLEAN: partial(_converted, EsqlType.BOOLEAN),
    Type.BINARY: as_binary,
    Type.DATE: partial(_moment, EsqlType.DATE, date),
    Type.TIME: partial(_moment, EsqlType.TIME, time),
    Type.DATETIME: partial(_moment, EsqlType.TIMESTAMP, datetime),
}
"""Conversion to each type."""

CLASSES: dict[Type, type] = {
    Type.STRING: str,
    Type.INTEGER: int,
    Type.DECIMAL: Decimal,
    Type.FLOAT: float,
    Type.BOOLEAN: bool,
    Type.BINARY: bytes,
    Type.DATE: date,
    Type.TIME: time,
    Type.DATETIME: datetime,
}
"""The class that values of each type have; values of just this class need no conversion."""
