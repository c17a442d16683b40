"""ESQL values on their way into a database."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from heliograph.flow.language.esql.database_access import DatabaseError
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.intervals import Interval
from heliograph.flow.language.values.zone import GmtTime, GmtTimestamp, time_to_local, to_local

_WRONG_TYPE = "07006"


def _refuse(value: Any) -> Any:
    name = {Bits: "BIT", Interval: "INTERVAL"}.get(type(value), type(value).__name__)
    raise DatabaseError(f"a value of type {name} cannot be stored in a database: {value!r}", _WRONG_TYPE)


def _moment(value: datetime) -> str:
    return value.isoformat(" ", "microseconds" if value.microsecond else "seconds")


ForDriver = Callable[[Any], Any]
_Forms = Mapping[type, ForDriver]

POSTGRESQL: _Forms = {
    GmtTime: time_to_local,
    GmtTimestamp: to_local,
}
"""What the driver of PostgreSQL does not know itself; it sends a DECIMAL as characters."""

SQLITE: _Forms = {
    bool: int,
    Decimal: str,
    date: date.isoformat,
    time: time.isoformat,
    datetime: _moment,
    GmtTime: lambda value: time_to_local(value).isoformat(),
    GmtTimestamp: lambda value: _moment(to_local(value)),
}
"""SQLite has numbers, texts and bytes: everything else is written as text, in the form that its functions know."""

_PLAIN = frozenset({str, int, float, bytes, type(None)})
_POSTGRESQL_PLAIN = _PLAIN | {bool, Decimal, date, time, datetime}


def for_sqlite(parameters: Sequence[Any]) -> Sequence[Any]:
    """What the driver is given."""
    for value in parameters:
        if type(value) not in _PLAIN:
            return [
                SQLITE.get(type(value), _refuse)(value) if type(value) not in _PLAIN else value for value in parameters
            ]
    return parameters


def for_postgresql(parameters: Sequence[Any]) -> Sequence[Any]:
    """What the driver is given."""
    for value in parameters:
        if type(value) not in _POSTGRESQL_PLAIN:
            return [
                value if type(value) in _POSTGRESQL_PLAIN else POSTGRESQL.get(type(value), _refuse)(value)
                for value in parameters
            ]
    return parameters
