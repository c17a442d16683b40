"""The databases of one instance of a flow, within its units of work."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from heliograph.common import private_files
from heliograph.common.suggestions import closest_name
from heliograph.errors import NotInstalled
from heliograph.flow.engine.database import postgresql, sqlite
from heliograph.flow.engine.database.connection import LOST, NO_CONNECTION, NO_SUCH_SOURCE, SPOILT, WARNING, Connection
from heliograph.flow.errors import DatabaseError, InvalidFlow
from heliograph.flow.language.esql.runtime.evaluation import Rows

if TYPE_CHECKING:
    from sqlalchemy import URL


# Imported on demand: SQLAlchemy takes longer to import than a small flow, and many flows have no database.

EMBEDDED = "flow"
"""The file of the data source without a name."""

_ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "sqlite": sqlite.CONNECT_ARGUMENTS,
    "postgresql": postgresql.CONNECT_ARGUMENTS,
}


class DataSources:
    """The data sources of a flow by name; threads may share it.

    A source is a URL (`postgresql://user:password@host/database`, `sqlite:///file.db`), or nothing: then it is a file
    of SQLite. Files are inside the flow's state folder, unless their path is absolute.
    """

    def __init__(self, sources: Mapping[str, str | None], state: Path) -> None:
        self._state = state
        self._sources = {"": None, **sources}
        self._urls = {name: self._url(name, url) for name, url in sources.items() if url}

    def _url(self, name: str, text: str | None) -> "URL":
        from sqlalchemy import URL, make_url  # noqa: PLC0415
        from sqlalchemy.exc import ArgumentError  # noqa: PLC0415

        if not text:
            return URL.create("sqlite", database=str(self._state / f"{name or EMBEDDED}.db"))
        try:
            url = make_url(text)
        except ArgumentError as error:
            raise InvalidFlow(
                f"data source {name}: expected a URL such as postgresql://host/database, found {text!r}"
            ) from error
        kind = url.get_backend_name()
        if kind == "postgresql":
            return url.set(drivername="postgresql+psycopg")
        if kind != "sqlite":
            raise InvalidFlow(f"data source {name}: expected sqlite or postgresql, found {kind!r}")
        if url.database and url.database != ":memory:":
            return url.set(database=str(self._state / url.database))
        return url

    def names(self) -> list[str]:
        """All that are declared."""
        return [name for name in self._sources if name]

    def is_coordinated(self, name: str) -> bool:
        """Whether it can take part in a coordinated unit of work."""
        return self._find(name).get_backend_name() == "postgresql"

    def _find(self, name: str) -> "URL":
        if name not in self._sources:
            close = closest_name(name, self.names())
            hint = f"; did you mean {close}?" if close else f"; there are {', '.join(self.names()) or 'none'}"
            raise DatabaseError(f"the flow has no data source {name}{hint}", NO_SUCH_SOURCE)
        if name not in self._urls:
            self._urls[name] = self._url(name, self._sources[name])
        return self._urls[name]

    def connect(self, name: str) -> Connection:
        """A new connection. `Problem` if the driver is not installed."""
        from sqlalchemy import create_engine  # noqa: PLC0415

        url = self._find(name)
        kind = url.get_backend_name()
        if kind == "sqlite" and url.database and url.database != ":memory:":
            private_files.make_folder(Path(url.database).parent)
        try:
            dialect = create_engine(url).dialect
        except ModuleNotFoundError as error:
            raise NotInstalled(
                f"data source {name}: {kind} needs the package {error.name}, which is not installed; "
                f"pip install 'heliograph[{kind}]' brings it"
            ) from error
        words, options = dialect.create_connect_args(url)
        try:
            # The driver's own connection, without a pool: an instance keeps it, and a statement costs nothing more.
            driver: Any = dialect.connect(*words, **{**options, **_ARGUMENTS[kind]})
        except (dialect.loaded_dbapi.Error, OSError) as error:
            shown = url.render_as_string(hide_password=True)
            text = str(error).strip()
            raise DatabaseError(f"data source {name}: cannot connect to {shown}: {text}", NO_CONNECTION) from error
        return (
            sqlite.SqliteConnection(name, driver) if kind == "sqlite" else postgresql.PostgresqlConnection(name, driver)
        )


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

        A caller that says False has to check `spoilt` afterwards, and repeat the unit of work with care if it is.
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
        if connection.spoilt:  # the unit of work will be repeated with care, so nothing of it may stay
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
