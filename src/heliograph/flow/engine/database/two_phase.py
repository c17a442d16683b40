"""Units of work that several databases and a server share: prepared here, decided there.

Units of an instance are numbered. What is prepared has a name made of the flow, the instance, the unit and the data
source, so that it can be found again after a crash, and told from what belongs to others.
"""

from hashlib import blake2b

from heliograph.flow.engine.database.databases import Databases, DataSources
from heliograph.flow.engine.database.postgresql import PostgresqlConnection
from heliograph.flow.errors import DatabaseError, InvalidFlow

_LONGEST = 100
_DIGITS = 16


def owner_name(flow: str, instance: str) -> str:
    """What all prepared transactions of an instance begin with. A long name is cut, but stays one of its own."""
    name = f"heliograph:{flow}:{instance}:"
    if len(name.encode()) <= _LONGEST:
        return name
    return f"heliograph:{blake2b(name.encode(), digest_size=20).hexdigest()}:"


class TwoPhase:
    """The two phases of one instance's units of work."""

    def __init__(self, databases: Databases, sources: DataSources, owner: str) -> None:
        """`Problem` if a data source cannot take part."""
        self._databases = databases
        self._owner = owner
        self._sources = sources.names()
        for source in self._sources:
            if not sources.is_coordinated(source):
                raise InvalidFlow(f"a coordinated flow needs PostgreSQL, and data source {source} is SQLite")

    def check(self) -> None:
        """`DatabaseError` if a database does not keep prepared transactions."""
        for source in self._sources:
            connection = self._databases.connection(source)
            if isinstance(connection, PostgresqlConnection):
                connection.check()

    def _name(self, unit: int, source: str) -> str:
        return f"{self._owner}{unit:0{_DIGITS}}:{source}"

    def prepare(self, unit: int) -> list[str]:
        """First phase, for all databases that were used; all or none. The data sources, for `finish`."""
        used = self._databases.open_sources()
        done: list[str] = []
        try:
            for source in used:
                self._databases.connection(source).prepare(self._name(unit, source))
                done.append(source)
        except Exception:
            self.finish(unit, done, commit=False)
            self._databases.rollback_all()
            raise
        self._databases.touched = False
        return used

    def finish(self, unit: int, sources: list[str], *, commit: bool) -> None:
        """Second phase. May be called again if it fails: what is finished stays so."""
        for source in sources:
            try:
                self._databases.connection(source).finish(self._name(unit, source), commit=commit)
            except DatabaseError:
                self._databases.reconnect(source)
                raise

    def recover(self, last_committed: int) -> dict[str, bool]:
        """Finish what a crash has left: units up to `last_committed` are committed, later ones undone.

        Gives what was found, and whether it was committed.
        """
        found: dict[str, bool] = {}
        for source in self._sources:
            connection = self._databases.connection(source)
            for name in connection.prepared(self._owner):
                unit = int(name[len(self._owner) :].partition(":")[0])
                found[name] = unit <= last_committed
                connection.finish(name, commit=unit <= last_committed)
        return found
