"""The databases of one instance of a flow, within its units of work."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from heliograph.flow.engine.database.connection import LOST, SPOILT, WARNING, Connection
from heliograph.flow.engine.database.sources import DataSources
from heliograph.flow.errors import DatabaseError
from heliograph.flow.language.esql.runtime.database_access import Rows

T = TypeVar("T")


class Databases:
    """What ESQL uses (`DatabaseAccess`), and what the runner commits or rolls back. For one thread.

    Statements of the unit of work begin a transaction with the first change; `committing` is for nodes whose changes
    stay whatever becomes of the message, on connections of their own.
    """

    def __init__(self, sources: DataSources) -> None:
        self._sources = sources
        self._connections: dict[str, Connection] = {}
        self.committing = Committing(sources)
        self.touched = False
        """Whether the unit of work has used any transaction."""
        self._careful = True
        self._ended = False
        """Whether the flow has ended a transaction by itself: then what it did cannot all be undone."""

    def take_care(self, careful: bool) -> None:
        """Whether statements that fail must leave what was done before them as it was, or may spoil the unit of work.

        The latter is for whoever looks whether it is `spoilt`, and then does all of it again with care.
        """
        careful = careful or self._ended
        if careful != self._careful:
            self._careful = careful
            for connection in self._connections.values():
                connection.careful = careful

    @property
    def spoilt(self) -> bool:
        """Whether the unit of work can only be undone."""
        return any(connection.spoilt for connection in self._connections.values())

    def view(self, *, commit: bool = False, warnings_are_errors: bool = False) -> "Databases | Committing | Strict":
        """How a node sees the databases: with changes that are committed at once, with warnings that are raised."""
        seen = self.committing if commit else self
        return Strict(seen) if warnings_are_errors else seen

    def connection(self, source: str) -> Connection:
        """The connection for the unit of work."""
        found = self._connections.get(source)
        if found is None:
            found = self._connections[source] = self._sources.connect(source)
            found.careful = self._careful
        return found

    # What ESQL asks for

    def query(self, source: str, sql: str, parameters: Sequence[Any]) -> Rows:
        connection = self._connections.get(source) or self.connection(source)
        try:
            return connection.query(sql, parameters)
        except DatabaseError as error:
            if not self._may_try_again(source, connection, error):
                raise
        return self.connection(source).query(sql, parameters)

    def change(self, source: str, sql: str, parameters: Sequence[Any]) -> int:
        return self._begun(source).change(sql, parameters)

    def execute(self, source: str, sql: str, parameters: Sequence[Any]) -> Rows:
        return self._begun(source).execute(sql, parameters)

    def call(
        self, source: str, procedure: str, arguments: Sequence[Any], modes: Sequence[str], result_sets: int
    ) -> tuple[Any, Sequence[Any], Sequence[Rows]]:
        return self._begun(source).call(procedure, arguments, modes, result_sets)

    def commit(self, source: str) -> None:
        self._end_by_itself(source).commit()

    def rollback(self, source: str) -> None:
        self._end_by_itself(source).rollback()

    def _end_by_itself(self, source: str) -> Connection:
        connection = self.connection(source)
        if connection.spoilt:  # it is all done again; nothing of it may stay
            raise DatabaseError(f"data source {source}: a statement of the transaction has failed", SPOILT)
        self._ended = True
        self.take_care(True)
        return connection

    def warnings(self, source: str) -> list[str]:
        """What the database remarked on the last statement."""
        return self.connection(source).warnings

    def _begun(self, source: str) -> Connection:
        connection = self._connections.get(source) or self.connection(source)
        if connection.in_transaction:
            return connection
        self.touched = True
        try:
            connection.begin()
        except DatabaseError as error:
            if not self._may_try_again(source, connection, error):
                raise
            connection = self.connection(source)
            connection.begin()
        return connection

    def _may_try_again(self, source: str, connection: Connection, error: DatabaseError) -> bool:
        """A connection that was lost between units of work is made again without anybody's notice."""
        if not error.state.startswith(LOST) or connection.in_transaction:
            return False
        self._connections.pop(source, None)
        connection.close()
        return True

    # Units of work

    @property
    def used(self) -> bool:
        """Whether any of them has been used so far."""
        return bool(self._connections)

    def open_sources(self) -> list[str]:
        """Those that have something to commit."""
        return [source for source, connection in self._connections.items() if connection.in_transaction]

    def commit_all(self) -> None:
        """Commit everything. If one of several fails, those before it have been committed."""
        for source in self.open_sources():
            self._connections[source].commit()
        self.touched = False

    def rollback_all(self) -> None:
        """Undo everything; a database that is gone has done so itself."""
        for source in self.open_sources():
            connection = self._connections[source]
            try:
                connection.rollback()
            except DatabaseError:
                self._connections.pop(source).close()
        self.touched = False

    def reconnect(self, source: str) -> None:
        """Use a new connection from now on; what is not committed or prepared is undone."""
        connection = self._connections.pop(source, None)
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """End all connections; what is not committed is undone."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self.committing.close()


class Committing:
    """The databases as nodes see them whose changes are committed at once."""

    def __init__(self, sources: DataSources) -> None:
        self._sources = sources
        self._connections: dict[str, Connection] = {}

    def query(self, source: str, sql: str, parameters: Sequence[Any]) -> Rows:
        return self._do(source, lambda connection: connection.query(sql, parameters))

    def change(self, source: str, sql: str, parameters: Sequence[Any]) -> int:
        return self._do(source, lambda connection: connection.change(sql, parameters))

    def execute(self, source: str, sql: str, parameters: Sequence[Any]) -> Rows:
        return self._do(source, lambda connection: connection.execute(sql, parameters))

    def call(
        self, source: str, procedure: str, arguments: Sequence[Any], modes: Sequence[str], result_sets: int
    ) -> tuple[Any, Sequence[Any], Sequence[Rows]]:
        connection = self._connection(source)
        connection.begin()  # cursors that it opens live as long as a transaction
        try:
            return connection.call(procedure, arguments, modes, result_sets)
        finally:
            connection.commit()

    def commit(self, source: str) -> None:
        """Everything is committed already."""

    def rollback(self, source: str) -> None:
        """Everything is committed already."""

    def warnings(self, source: str) -> list[str]:
        """What the database remarked on the last statement."""
        return self._connection(source).warnings

    def _connection(self, source: str) -> Connection:
        found = self._connections.get(source)
        if found is None:
            found = self._connections[source] = self._sources.connect(source)
        return found

    def _do(self, source: str, statement: Callable[[Connection], T]) -> T:
        try:
            return statement(self._connection(source))
        except DatabaseError as error:
            if error.state.startswith(LOST) and source in self._connections:
                self._connections.pop(source).close()
            raise

    def close(self) -> None:
        """End all connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()


class Strict:
    """The same databases, but a warning is an error."""

    def __init__(self, seen: Databases | Committing) -> None:
        self._seen = seen

    def query(self, source: str, sql: str, parameters: Sequence[Any]) -> Rows:
        return self._checked(source, self._seen.query(source, sql, parameters))

    def change(self, source: str, sql: str, parameters: Sequence[Any]) -> int:
        return self._checked(source, self._seen.change(source, sql, parameters))

    def execute(self, source: str, sql: str, parameters: Sequence[Any]) -> Rows:
        return self._checked(source, self._seen.execute(source, sql, parameters))

    def call(
        self, source: str, procedure: str, arguments: Sequence[Any], modes: Sequence[str], result_sets: int
    ) -> tuple[Any, Sequence[Any], Sequence[Rows]]:
        return self._checked(source, self._seen.call(source, procedure, arguments, modes, result_sets))

    def commit(self, source: str) -> None:
        self._seen.commit(source)

    def rollback(self, source: str) -> None:
        self._seen.rollback(source)

    def _checked(self, source: str, result: T) -> T:
        warnings = self._seen.warnings(source)
        if warnings:
            state, _, text = warnings[0].partition(" ")
            raise DatabaseError(f"data source {source}: {text}", state or WARNING, 1)
        return result
