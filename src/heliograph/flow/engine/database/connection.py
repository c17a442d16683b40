"""What the databases of a flow need of a connection; each kind of database has its own."""

from collections.abc import Sequence
from typing import Any, Protocol

from heliograph.flow.language.esql.database_access import DatabaseError, Rows

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
