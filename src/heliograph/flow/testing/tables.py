"""Tables of test cases: made from rows, and read back as rows."""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from heliograph.errors import Problem
from heliograph.flow.engine.database import Databases

Row = Mapping[str, Any]

_SQL_TYPES: Mapping[type, str] = {bool: "BOOLEAN", int: "INTEGER", float: "DOUBLE PRECISION", bytes: "BLOB"}
_NOTHING = re.compile(r"(?:[\s;]|--[^\n]*|/\*.*?\*/)*", re.DOTALL).fullmatch
"""Text that asks for nothing: blanks and comments."""


class TestDatabase:
    """One data source of a flow under test."""

    __test__ = False  # the name is right for readers; pytest need not look into it

    def __init__(self, databases: Databases, source: str) -> None:
        self._databases = databases
        self._source = source

    def execute(self, sql: str) -> None:
        """Run SQL: a table with types and keys, for example."""
        self._databases.execute(self._source, sql, ())
        self._databases.commit_all()

    def load(self, table: str, rows: Sequence[Row]) -> None:
        """Put rows into a table. A table that is not there is made, with the columns of the first row."""
        if not rows:
            return
        columns = list(rows[0])
        for row in rows:
            if list(row) != columns:
                raise Problem(
                    f"table {table}: expected columns {', '.join(columns)} in every row, found {', '.join(row)}"
                )
        types = ", ".join(f"{_quoted(name)} {_SQL_TYPES.get(type(rows[0][name]), 'VARCHAR')}" for name in columns)
        self._databases.execute(self._source, f"CREATE TABLE IF NOT EXISTS {_quoted(table)} ({types})", ())
        names, marks = ", ".join(map(_quoted, columns)), ", ".join("?" * len(columns))
        insert = f"INSERT INTO {_quoted(table)} ({names}) VALUES ({marks})"  # noqa: S608 - names are quoted
        for row in rows:
            self._databases.change(self._source, insert, [row[name] for name in columns])
        self._databases.commit_all()

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows of a table, in the order in which they were put in."""
        found = self._databases.query(self._source, f"SELECT * FROM {_quoted(table)}", ())  # noqa: S608
        return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


def statements(sql: str) -> Iterator[str]:
    """The statements in a text, without the semicolons that end them; in strings, comments and triggers none does."""
    *ended, last = sql.split(";")
    begun = ""
    for piece in ended:
        begun += piece
        if sqlite3.complete_statement(begun + ";"):
            if not _NOTHING(begun):
                yield begun
            begun = ""
        else:
            begun += ";"
    if not _NOTHING(begun + last):
        yield begun + last


def comparable(row: Row) -> dict[str, Any]:
    """The row in values that a test case can say: numbers are equal whatever their type, dates and times are text."""
    return {name: _comparable(value) for name, value in row.items()}


def _comparable(value: Any) -> Any:
    if value is None or isinstance(value, bool | str | bytes):
        return value
    return Decimal(str(value)) if isinstance(value, int | float | Decimal) else str(value)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
