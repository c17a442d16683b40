"""Values on their way out: what a field of a model makes of a value of another type.

Each raises ValueError with the value as it would be shown, if it cannot become one of that type.
"""

from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

from heliograph.flow.formats.model.logical import Type
from heliograph.flow.values.text import character
from heliograph.flow.values.zone import GmtTime, GmtTimestamp

Moment = TypeVar("Moment", date, time, datetime)


def shown(value: object) -> str:
    """A value as a problem shows it."""
    return "nothing" if value is None else f"{value!r} ({type(value).__name__})"


def as_string(value: Any) -> str:
    """Text."""
    if value is None or isinstance(value, bytes):
        raise ValueError(shown(value))
    return character(value)


def as_integer(value: Any) -> int:
    """A whole number; fractions are cut off, as ESQL does."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(shown(value)) from None


def as_decimal(value: Any) -> Decimal:
    """A decimal number; of a float, the 15 digits that it holds."""
    try:
        return Decimal(f"{value:.15g}") if isinstance(value, float) else Decimal(value)
    except (TypeError, ValueError, InvalidOperation):
        raise ValueError(shown(value)) from None


def as_float(value: Any) -> float:
    """A floating-point number."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(shown(value)) from None


def as_boolean(value: Any) -> bool:
    """TRUE or FALSE."""
    if isinstance(value, bool):
        return value
    text = value.lower() if isinstance(value, str) else value
    if text in ("true", "1", 1):
        return True
    if text in ("false", "0", 0):
        return False
    raise ValueError(shown(value))


def as_binary(value: Any) -> bytes:
    """Bytes; of text, those that its hexadecimal digits say."""
    if isinstance(value, bytes):
        return value
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError):
        raise ValueError(shown(value)) from None


def as_date(value: Any) -> date:
    """A date."""
    value = _local(value)
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    return _parsed(value, date)


def as_time(value: Any) -> time:
    """A time of day."""
    value = _local(value)
    if isinstance(value, datetime):
        return value.time()
    if isinstance(value, time):
        return value
    return _parsed(value, time)


def as_datetime(value: Any) -> datetime:
    """A date with a time; midnight, if there is only a date."""
    value = _local(value)
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)  # local, as ESQL's
    return _parsed(value, datetime)


def _local(value: Any) -> Any:
    if isinstance(value, GmtTime):
        return value.time
    if isinstance(value, GmtTimestamp):
        return value.moment
    return value


def _parsed(value: Any, kind: type[Moment]) -> Moment:
    try:
        return kind.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(shown(value)) from None


CONVERSIONS: dict[Type, Any] = {
    Type.STRING: as_string,
    Type.INTEGER: as_integer,
    Type.DECIMAL: as_decimal,
    Type.FLOAT: as_float,
    Type.BOOLEAN: as_boolean,
    Type.BINARY: as_binary,
    Type.DATE: as_date,
    Type.TIME: as_time,
    Type.DATETIME: as_datetime,
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
