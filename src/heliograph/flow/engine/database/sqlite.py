"""SQLite, in a file or in memory."""

import re
import sqlite3
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from heliograph.flow.engine.database.connection import WRONG_PARAMETERS, for_sqlite, unsupported
from heliograph.flow.errors import DatabaseError
from heliograph.flow.language.esql.runtime.evaluation import Rows

BUSY_SECONDS = 10
"""How long a statement waits for another connection that writes."""

_STATES = {
    sqlite3.SQLITE_CONSTRAINT_UNIQUE: "23505",
    sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY: "23505",
    sqlite3.SQLITE_CONSTRAINT_ROWID: "23505",
    sqlite3.SQLITE_CONSTRAINT_NOTNULL: "23502",
    sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY: "23503",
    sqlite3.SQLITE_CONSTRAINT_CHECK: "23514",
}
_STATES_OF_CLASSES = {
    sqlite3.SQLITE_CONSTRAINT: "23000",
    sqlite3.SQLITE_BUSY: "HYT00",
    sqlite3.SQLITE_LOCKED: "HYT00",
    sqlite3.SQLITE_READONLY: "25006",
    sqlite3.SQLITE_FULL: "53100",
    sqlite3.SQLITE_CANTOPEN: "08001",
    sqlite3.SQLITE_NOTADB: "08001",
    sqlite3.SQLITE_MISMATCH: "22018",
    sqlite3.SQLITE_TOOBIG: "22001",
}
_STATES_OF_TEXTS = (
    (re.compile("no such table"), "42S02"),
    (re.compile("no such column|has no column named"), "42S22"),
    (re.compile("already exists"), "42S01"),
    (re.compile("syntax error|incomplete input|unrecognized token"), "42000"),
)


def _date(data: bytes) -> Any:
    return date.fromisoformat(data.decode())


def _time(data: bytes) -> Any:
    return time.fromisoformat(data.decode())


def _timestamp(data: bytes) -> Any:
    return datetime.fromisoformat(data.decode())


def _decimal(data: bytes) -> Any:
    return Decimal(data.decode())


def _boolean(data: bytes) -> Any:
    return {b"0": False, b"1": True}[data]


def _lenient(convert: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """SQLite stores anything in any column: what is not of the column's type stays text."""

    def converted(data: bytes) -> Any:
        try:
            return convert(data)
        except (ValueError, KeyError, InvalidOperation):
            return data.decode("utf-8", "replace")

    return converted


# By the first word of a column's declared type. What is not here comes as SQLite has it: numbers, texts, bytes.
_COLUMN_TYPES = {
    "DATE": _date,
    "TIME": _time,
    "TIMESTAMP": _timestamp,
    "DATETIME": _timestamp,
    "DECIMAL": _decimal,
    "NUMERIC": _decimal,
    "MONEY": _decimal,
    "BOOLEAN": _boolean,
}
for _name, _convert in _COLUMN_TYPES.items():
    sqlite3.register_converter(_name, _lenient(_convert))

CONNECT_ARGUMENTS = {
    "detect_types": sqlite3.PARSE_DECLTYPES,
    "isolation_level": None,
    "check_same_thread": False,
    "timeout": BUSY_SECONDS,
    "cached_statements": 512,
}


class SqliteConnection:
    """A connection to SQLite. Its statements are kept ready by the driver, by their text."""

    careful = True
    spoilt = False

    def __init__(self, source: str, driver: sqlite3.Connection) -> None:
        self._source = source
        self._driver = driver
        self.warnings: list[str] = []
        self._run = driver.execute
        self._run("PRAGMA journal_mode = WAL").close()
        self._run("PRAGMA foreign_keys = ON").close()

    @property
    def in_transaction(self) -> bool:
        return self._driver.in_transaction

    def begin(self) -> None:
        # Take the write lock at once: asking for it later fails if another connection has written meanwhile.
        try:
            self._run("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            self._raise(error)

    def commit(self) -> None:
        try:
            self._driver.commit()
        except sqlite3.Error as error:
            self._raise(error)

    def rollback(self) -> None:
        try:
            self._driver.rollback()
        except sqlite3.Error as error:
            self._raise(error)

    def query(self, sql: str, parameters: Sequence[Any]) -> Rows:
        try:
            cursor = self._run(sql, for_sqlite(parameters))
            rows = cursor.fetchall()
        except (sqlite3.Error, OverflowError) as error:
            self._raise(error)
        description = cursor.description
        return Rows([column[0] for column in description] if description else (), rows)

    def change(self, sql: str, parameters: Sequence[Any]) -> int:
        try:
            return max(0, self._run(sql, for_sqlite(parameters)).rowcount)
        except (sqlite3.Error, OverflowError) as error:
            self._raise(error)

    execute = query

    def call(
        self, procedure: str, arguments: Sequence[Any], modes: Sequence[str], result_sets: int
    ) -> tuple[Any, Sequence[Any], Sequence[Rows]]:
        raise unsupported(self._source, f"SQLite has no stored procedures, so {procedure} cannot be called")

    def prepare(self, name: str) -> None:
        raise unsupported(self._source, "SQLite cannot take part in a coordinated unit of work")

    def prepared(self, prefix: str) -> list[str]:
        return []

    def finish(self, name: str, *, commit: bool) -> None:
        raise unsupported(self._source, "SQLite has no prepared transactions")

    def close(self) -> None:
        self._driver.close()

    def _raise(self, error: Exception) -> NoReturn:
        text = str(error)
        code = getattr(error, "sqlite_errorcode", 0)
        state = _STATES.get(code) or _STATES_OF_CLASSES.get(code & 0xFF)
        if state is None:
            is_count = isinstance(error, sqlite3.ProgrammingError) and "bindings" in text
            state = WRONG_PARAMETERS if is_count else "22003" if isinstance(error, OverflowError) else "HY000"
            state = next((known for form, known in _STATES_OF_TEXTS if form.search(text)), state)
        raise DatabaseError(f"data source {self._source}: {text}", state, -1, code) from error
