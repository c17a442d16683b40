"""What the databases of a flow need of a connection; each kind of database has its own."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Protocol

from heliograph.flow.errors import DatabaseError
from heliograph.flow.language.esql.runtime.evaluation import Rows
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.times import GmtTime, GmtTimestamp, Interval, time_to_local, to_local

NO_CONNECTION = "08001"
NO_SUCH_SOURCE = "IM002"
LOST = ("08", "57P")
"""How the states begin of databases that cannot be reached, or are shutting down."""
NOT_SUPPORTED = "HYC00"
WRONG_PARAMETERS = "07002"
WARNING = "01000"
SPOILT = "25P02"


class Connection(Protocol):
    """One connection. Outside a transaction, whatever is done is committed at once.

    A statement that fails leaves the transaction as it was before it. Everything may raise `DatabaseError`.
    """

    careful: bool
    """If not, a statement that fails may spoil the transaction, where that makes those cheaper that do not fail."""
    spoilt: bool
    """Whether the transaction can only be rolled back."""

    @property
    def in_transaction(self) -> bool:
        """Whether there is anything to commit."""

    @property
    def warnings(self) -> list[str]:
        """What the database remarked on the last statement."""

    def begin(self) -> None:
        """Begin a transaction."""

    def commit(self) -> None:
        """Commit it, if there is one."""

    def rollback(self) -> None:
        """Undo it, if there is one."""

    def query(self, sql: str, parameters: Sequence[Any]) -> Rows:
        """The rows of a query."""

    def change(self, sql: str, parameters: Sequence[Any]) -> int:
        """How many rows were changed."""

    def execute(self, sql: str, parameters: Sequence[Any]) -> Rows:
        """Whatever it is; without columns if it is no query."""

    def call(
        self, procedure: str, arguments: Sequence[Any], modes: Sequence[str], result_sets: int
    ) -> tuple[Any, Sequence[Any], Sequence[Rows]]:
        """Call a stored routine, as `DatabaseAccess.call` says."""

    def prepare(self, name: str) -> None:
        """First phase of two: the transaction survives everything from now on, and ends with `finish`."""

    def prepared(self, prefix: str) -> list[str]:
        """The names of prepared transactions that begin so."""

    def finish(self, name: str, *, commit: bool) -> None:
        """Second phase: commit or undo a prepared transaction; nothing if there is none of this name."""

    def close(self) -> None:
        """End it; what is not committed or prepared is undone."""


def unsupported(source: str, what: str) -> DatabaseError:
    """What this kind of database cannot do."""
    return DatabaseError(f"data source {source}: {what}", NOT_SUPPORTED)


# ESQL values on their way into a database.

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
