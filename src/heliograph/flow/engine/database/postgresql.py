"""PostgreSQL, by psycopg."""

import json
import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

from heliograph.flow.engine.database.connection import SPOILT, for_postgresql, unsupported
from heliograph.flow.errors import DatabaseError
from heliograph.flow.language.esql.runtime.evaluation import Rows
from heliograph.flow.language.values.times import Interval, Qualifier

if TYPE_CHECKING:
    import psycopg


# ESQL marks parameters with `?`; drivers want `%s`.

# Strings, names and comments may contain question marks and percent signs that are not parameters.
_PIECES = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ | \$(\w*)\$.*?\$\1\$ | \? """, re.VERBOSE | re.DOTALL
)


@lru_cache(4096)
def to_format(sql: str) -> str:
    """With `%s` for each parameter, for drivers that format."""
    found: list[str] = []
    at = 0
    for piece in _PIECES.finditer(sql):
        found.append(sql[at : piece.start()].replace("%", "%%"))
        text = piece.group()
        found.append("%s" if text == "?" else text.replace("%", "%%"))
        at = piece.end()
    found.append(sql[at:].replace("%", "%%"))
    return "".join(found)


@lru_cache(4096)
def count(sql: str) -> int:
    """How many parameters it has."""
    return sum(piece.group() == "?" for piece in _PIECES.finditer(sql))


CONNECT_ARGUMENTS = {"autocommit": True}

_PLAIN = frozenset({str, int, float, bytes, bool, Decimal, date, type(None)})
_MONEY = 790
_CURSOR = 1790
_NAME = re.compile(r'(?:[^\W\d][\w$]*|"(?:[^"]|"")+")(?:\.(?:[^\W\d][\w$]*|"(?:[^"]|"")+"))*')
_SAVEPOINT = "heliograph_statement"
# There is no number for an error but its SQLSTATE; ODBC drivers give this one.
_NATIVE = 7


def _value(value: Any) -> Any:
    """A value of the driver as ESQL has it."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is datetime:
        return value if value.tzinfo is None else value.astimezone().replace(tzinfo=None)
    if kind is time:
        return value.replace(tzinfo=None)
    if kind is timedelta:
        return Interval(round(value / timedelta(microseconds=1)), Qualifier.DAY_TO_SECOND)
    if kind in {memoryview, bytearray}:
        return bytes(value)
    if kind in {dict, list}:
        return json.dumps(value, default=str)
    return str(value)


def _money(text: Any) -> Any:
    return None if text is None else Decimal(re.sub(r"[^0-9.\-]", "", text))


class PostgresqlConnection:
    """A connection to PostgreSQL, on which transactions are begun and ended by statements."""

    def __init__(self, source: str, driver: "psycopg.Connection[Any]") -> None:
        import psycopg  # noqa: PLC0415 - a flow without PostgreSQL does not need the driver

        self._errors = psycopg.Error
        self._source = source
        self._driver = driver
        self._cursor = driver.cursor()
        self.in_transaction = False
        self._changed = False
        """Whether there are changes behind the last savepoint."""
        self._saved = False
        self.careful = True
        self.spoilt = False
        self.warnings: list[str] = []
        driver.add_notice_handler(self._notice)

    def _notice(self, diagnostic: "psycopg.errors.Diagnostic") -> None:
        if diagnostic.severity_nonlocalized == "WARNING":
            self.warnings.append(f"{diagnostic.sqlstate} {diagnostic.message_primary}")

    def begin(self) -> None:
        self._do("BEGIN")
        self.in_transaction = True

    def commit(self) -> None:
        self._check_not_spoilt()
        self._end("COMMIT")

    def rollback(self) -> None:
        self._end("ROLLBACK")

    def _end(self, how: str) -> None:
        if self.in_transaction:
            self.in_transaction = self._changed = self._saved = self.spoilt = False
            self._do(how)

    def _check_not_spoilt(self) -> None:
        """PostgreSQL would roll it back, and say nothing."""
        if self.spoilt:
            raise DatabaseError(f"data source {self._source}: a statement of the transaction has failed", SPOILT)

    def query(self, sql: str, parameters: Sequence[Any]) -> Rows:
        self._run(sql, parameters)
        return self._rows()

    def change(self, sql: str, parameters: Sequence[Any]) -> int:
        self._run(sql, parameters)
        self._changed = True
        return max(0, self._cursor.rowcount)

    def execute(self, sql: str, parameters: Sequence[Any]) -> Rows:
        self._run(sql, parameters)
        self._changed = True
        return self._rows()

    def _run(self, sql: str, parameters: Sequence[Any]) -> None:
        given = for_postgresql(parameters)
        if self.warnings:
            self.warnings = []
        if self._changed and self.in_transaction and self.careful:
            # After an error PostgreSQL refuses the rest of the transaction, unless it is rolled back to a savepoint.
            self._do(f"RELEASE {_SAVEPOINT}; SAVEPOINT {_SAVEPOINT}" if self._saved else f"SAVEPOINT {_SAVEPOINT}")
            self._saved, self._changed = True, False
        try:
            if given:
                self._cursor.execute(to_format(sql), given)
            else:
                self._cursor.execute(sql)
        except self._errors as error:
            self._recover()
            self._raise(error)

    def _recover(self) -> None:
        """Go back to where the statement began, if that can be done."""
        if not self.in_transaction or self._driver.closed:
            return
        if self._changed:
            self.spoilt = True
        else:
            self._cursor.execute(f"ROLLBACK TO {_SAVEPOINT}" if self._saved else "ROLLBACK; BEGIN", prepare=False)

    def _rows(self) -> Rows:
        description = self._cursor.description
        if description is None:
            return Rows((), ())
        try:
            found = self._cursor.fetchall()
        except self._errors as error:
            self._raise(error)
        rows = [[_value(value) for value in row] for row in found]
        for at, column in enumerate(description):
            if column.type_code == _MONEY:
                for row in rows:
                    row[at] = _money(row[at])
        return Rows([column.name for column in description], rows)

    # Stored routines

    def call(
        self, procedure: str, arguments: Sequence[Any], modes: Sequence[str], result_sets: int
    ) -> tuple[Any, Sequence[Any], Sequence[Rows]]:
        if not _NAME.fullmatch(procedure):
            raise DatabaseError(f"data source {self._source}: {procedure!r} is not the name of a routine", "42602")
        if self._is_procedure(procedure):
            return self._call_procedure(procedure, arguments, modes, result_sets)
        return self._call_function(procedure, arguments, modes, result_sets)

    def _is_procedure(self, name: str) -> bool:
        schema, _, plain = name.rpartition(".")
        sql = "SELECT bool_or(prokind = 'p') FROM pg_proc WHERE proname = (parse_ident(?))[1]"
        parameters = [plain]
        if schema:
            sql += " AND pronamespace = to_regnamespace(?)"
            parameters.append(schema)
        (kind,) = self.query(sql, parameters).rows[0]
        if kind is None:
            raise DatabaseError(f"data source {self._source}: there is no routine {name}", "42883", -1, _NATIVE)
        return bool(kind)

    def _call_procedure(
        self, procedure: str, arguments: Sequence[Any], modes: Sequence[str], result_sets: int
    ) -> tuple[Any, Sequence[Any], Sequence[Rows]]:
        given = [None if mode == "OUT" else value for value, mode in zip(arguments, modes, strict=True)]
        outputs = self.execute(f"CALL {procedure}({_markers(given)})", given)
        after, cursors = self._assigned(arguments, modes, outputs)
        return None, after, self._fetched(cursors, result_sets)

    def _call_function(
        self, procedure: str, arguments: Sequence[Any], modes: Sequence[str], result_sets: int
    ) -> tuple[Any, Sequence[Any], Sequence[Rows]]:
        given = [value for value, mode in zip(arguments, modes, strict=True) if mode != "OUT"]
        outputs = self.execute(f"SELECT * FROM {procedure}({_markers(given)})", given)  # noqa: S608 - a checked name
        if any(mode != "IN" for mode in modes):
            after, cursors = self._assigned(arguments, modes, outputs)
            return None, after, self._fetched(cursors, result_sets)
        cursors = self._cursors(outputs)
        if cursors:
            return None, arguments, self._fetched(cursors, result_sets)
        returned = outputs.rows[0][0] if outputs.rows and outputs.rows[0] else None
        return returned, arguments, [outputs] if result_sets else []

    def _assigned(
        self, arguments: Sequence[Any], modes: Sequence[str], outputs: Rows
    ) -> tuple[Sequence[Any], list[str]]:
        """The arguments as they are afterwards, and cursors that were opened."""
        cursors = self._cursors(outputs)
        row = iter(outputs.rows[0] if outputs.rows else ())
        after = [value if mode == "IN" else next(row, None) for value, mode in zip(arguments, modes, strict=True)]
        return after, cursors

    def _cursors(self, outputs: Rows) -> list[str]:
        description = self._cursor.description or ()
        places = [at for at, column in enumerate(description) if column.type_code == _CURSOR]
        return [row[at] for row in outputs.rows for at in places if row[at] is not None]

    def _fetched(self, cursors: list[str], result_sets: int) -> list[Rows]:
        quoted = ['"' + name.replace('"', '""') + '"' for name in cursors[:result_sets]]
        return [self.query(f"FETCH ALL FROM {name}", ()) for name in quoted]

    # Two phases

    def prepare(self, name: str) -> None:
        self._check_not_spoilt()
        self.in_transaction = self._changed = self._saved = False
        self._do(f"PREPARE TRANSACTION {_literal(name)}")

    def prepared(self, prefix: str) -> list[str]:
        sql = (
            "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() AND starts_with(gid, ?) ORDER BY gid"
        )
        return [row[0] for row in self.query(sql, [prefix]).rows]

    def finish(self, name: str, *, commit: bool) -> None:
        try:
            self._do(f"{'COMMIT' if commit else 'ROLLBACK'} PREPARED {_literal(name)}")
        except DatabaseError as error:
            if error.state != "42704":  # it is finished already
                raise

    def check(self) -> None:
        """`DatabaseError` if the server does not keep prepared transactions."""
        (most,) = self.query("SELECT current_setting('max_prepared_transactions')::int", ()).rows[0]
        if not most:
            raise unsupported(
                self._source,
                "coordinated units of work need max_prepared_transactions > 0 in postgresql.conf, and it is 0",
            )

    def close(self) -> None:
        self._driver.close()

    def _do(self, sql: str) -> None:
        try:
            self._cursor.execute(sql, prepare=False)
        except self._errors as error:
            self._raise(error)

    def _raise(self, error: "psycopg.Error") -> NoReturn:
        state = error.sqlstate or ("08006" if self._driver.closed else "HY000")
        text = error.diag.message_primary or str(error).strip()
        raise DatabaseError(f"data source {self._source}: {text}", state, -1, _NATIVE) from error


def _markers(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
