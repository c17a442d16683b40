"""What ESQL asks of databases. The runner implements it; a program never sees a connection.

`source` is the name of a data source, as the flow declares it. SQL has `?` for each parameter, in order; parameters and
results are values of ESQL (`flow.values`): DECIMAL stays exact, timestamps are naive local ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Rows:
    """What a query brought: the columns' names as the database says them, and the rows."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


class DatabaseAccess(Protocol):
    """The databases of one flow, within one unit of work. Everything may raise `DatabaseError`."""

    def query(self, source: str, sql: str, parameters: Sequence[Any]) -> Rows:
        """The rows of a SELECT."""

    def change(self, source: str, sql: str, parameters: Sequence[Any]) -> int:
        """Run an INSERT, UPDATE or DELETE; how many rows it changed."""

    def execute(self, source: str, sql: str, parameters: Sequence[Any]) -> Rows:
        """Run what the user wrote (PASSTHRU), whatever it is; no columns if it is no query."""

    def call(
        self, source: str, procedure: str, arguments: Sequence[Any], modes: Sequence[str], result_sets: int
    ) -> tuple[Any, Sequence[Any], Sequence[Rows]]:
        """Call a stored routine; `modes` has IN, OUT or INOUT for each argument.

        Gives what it returned (None for a procedure), the arguments as they are afterwards, and its result sets.
        """

    def commit(self, source: str) -> None:
        """Commit what has been done on this source so far."""

    def rollback(self, source: str) -> None:
        """Roll back what has been done on this source since the last commit."""
