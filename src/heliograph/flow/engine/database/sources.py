"""Data sources: where the databases are that a flow knows by name."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heliograph.common import private_files
from heliograph.common.suggestions import closest
from heliograph.errors import Problem
from heliograph.flow.engine.database import postgresql, sqlite
from heliograph.flow.engine.database.connection import NO_CONNECTION, NO_SUCH_SOURCE, Connection
from heliograph.flow.errors import DatabaseError

if TYPE_CHECKING:
    from sqlalchemy import URL

# SQLAlchemy takes longer to import than all the rest of a small flow, and many flows have no database.

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
            raise Problem(
                f"data source {name}: expected a URL such as postgresql://host/database, found {text!r}"
            ) from error
        kind = url.get_backend_name()
        if kind == "postgresql":
            return url.set(drivername="postgresql+psycopg")
        if kind != "sqlite":
            raise Problem(f"data source {name}: expected sqlite or postgresql, found {kind!r}")
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
            close = closest(name, self.names())
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
            raise Problem(
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
