"""Rows for tables of databases, each written once.

The rows of a task are one transaction, together with a note of the micro-batch in `heliograph_batches`. A task that is
repeated finds the note, and writes nothing.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Date,
    DateTime,
    Engine,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    String,
    Table,
    Text,
    create_engine,
    insert,
    update,
)
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchTableError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from heliograph.pipeline.errors import DatabaseFailed, InvalidOption
from heliograph.pipeline.sink.part import Part

NOTES = "heliograph_batches"
_BUSY_SECONDS = 60
_ENGINES: dict[str, Engine] = {}

_notes = Table(
    NOTES,
    MetaData(),
    Column("query", String(64), primary_key=True),
    Column("target", String(200), primary_key=True),
    Column("part", Integer, primary_key=True),
    Column("batch", BigInteger, nullable=False),
)


class TableRows:
    """The rows of one task, by table. They are written when the task has all of them."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._waiting: dict[tuple[str, str], list[pa.Table]] = {}

    def add(self, url: str, table: str, rows: pa.Table) -> None:
        """Rows for a table."""
        self._waiting.setdefault((url, table), []).append(rows)

    def write(self) -> None:
        """Write all that is not there yet."""
        for (url, table), several in self._waiting.items():
            try:
                _write(_engine(url), table, _together(table, several), self._part)
            except SQLAlchemyError as error:
                raise DatabaseFailed(
                    f"table {table} cannot be written: {getattr(error, 'orig', None) or error}"
                ) from error


def _together(name: str, several: Sequence[pa.Table]) -> pa.Table:
    """Rows of several outputs, which need the same columns."""
    first = several[0].schema
    for rows in several:
        if not rows.schema.equals(first):
            raise DatabaseFailed(
                f"table {name} gets rows of several outputs, and they differ: expected the same columns from all, "
                f"found {_columns(first)} and {_columns(rows.schema)}; give them one JSON schema, or a table each"
            )
    return pa.concat_tables(several)


def _columns(schema: pa.Schema) -> str:
    return "(" + ", ".join(f"{field.name} {field.type}" for field in schema) + ")"


def _write(engine: Engine, name: str, rows: pa.Table, part: Part) -> None:
    table = _table(engine, name, rows.schema)
    missing = [column for column in rows.schema.names if column not in table.c]
    if missing:
        raise DatabaseFailed(f"table {name} has no column {', '.join(missing)}; it has: {', '.join(table.c.keys())}")
    with engine.begin() as connection:
        if _note(connection, name, part):
            connection.execute(insert(table), [_values(row) for row in rows.to_pylist()])


def _note(connection: Connection, target: str, part: Part) -> bool:
    """Note that the rows of a part are written; False if they were already."""
    key = {"query": part.name, "target": target, "part": part.partition}
    same = [_notes.c[name] == value for name, value in key.items()]
    if connection.execute(update(_notes).where(*same, _notes.c.batch < part.batch).values(batch=part.batch)).rowcount:
        return True
    try:
        with connection.begin_nested():
            connection.execute(insert(_notes).values(**key, batch=part.batch))
    except IntegrityError:
        return False
    return True


def _engine(url: str) -> Engine:
    engine = _ENGINES.get(url)
    if engine is None:
        try:
            more = {"connect_args": {"timeout": _BUSY_SECONDS}} if url.startswith("sqlite") else {}
            address = url.replace("postgresql://", "postgresql+psycopg://", 1)
            engine = create_engine(address, poolclass=NullPool, **more)
        except (ArgumentError, ModuleNotFoundError) as error:
            raise InvalidOption(
                f"expected the URL of a database such as postgresql://host/database: {error}"
            ) from error
        _ENGINES[url] = engine
    return engine


def _table(engine: Engine, name: str, schema: pa.Schema) -> Table:
    """The table; made if it does not exist, as is the one for notes."""
    _notes.create(engine, checkfirst=True)
    try:
        return Table(name, MetaData(), autoload_with=engine)
    except NoSuchTableError:
        made = Table(name, MetaData(), *(Column(field.name, _type(field.type)) for field in schema))
        try:
            made.create(engine, checkfirst=True)
        except SQLAlchemyError:  # another task may have made it meanwhile
            return Table(name, MetaData(), autoload_with=engine)
        return made


def _type(kind: pa.DataType) -> Any:
    if pa.types.is_boolean(kind):
        return Boolean
    if pa.types.is_integer(kind):
        return BigInteger
    if pa.types.is_floating(kind):
        return Float
    if pa.types.is_decimal(kind):
        return Numeric(kind.precision, kind.scale)
    if pa.types.is_binary(kind):
        return LargeBinary
    if pa.types.is_timestamp(kind):
        return DateTime(timezone=True)
    return Date if pa.types.is_date(kind) else Text


def _values(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(name, value) for name, value in row.items()}


def _value(name: str, value: Any) -> Any:
    """Lists, structures and maps (which Arrow gives as pairs) are JSON in a table."""
    if name == "properties" and isinstance(value, list):
        return json.dumps(dict(value), ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else value
