"""Statements on databases: run through the evaluation's access, with SQLCODE and its like set afterwards.

A column that is NULL makes no field.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from heliograph.flow.errors import DatabaseError, EsqlError
from heliograph.flow.language.esql.runtime.evaluation import DatabaseAccess, Evaluation, Rows
from heliograph.flow.tree import Element

NO_DATABASE = 2440
BAD_NAME = 2441

NEXT_TABLE = "next table"
"""What a column is called that stands between the columns of two tables."""


def query(
    evaluation: Evaluation, source: str, sql: str, parameters: Sequence[Any], groups: Sequence[Sequence[str] | None]
) -> list[tuple[Element, ...]]:
    """The rows of a SELECT from one or more tables, each with a row for every table.

    `groups` has the columns' names of each table as the program writes them; None for all, as the database says them.
    """
    found: Rows | None = _run(evaluation, lambda access: access.query(_source(evaluation, source), sql, parameters))
    if found is None:
        return []
    names: Sequence[Sequence[str | None] | None] = groups
    if None in groups:
        names = _groups(found.columns, groups)
    return [tuple(_split(values, names)) for values in found.rows]


def _groups(columns: Sequence[str], groups: Sequence[Sequence[str] | None]) -> list[Sequence[str | None]]:
    """The columns of each table: as the program writes them, or as the database says them; None for marks between."""
    result: list[list[str | None]] = [[]]
    for name in columns:
        if name == NEXT_TABLE:
            result.append([None])
        else:
            result[-1].append(name)
    return [
        found if written is None else [*found[: len(found) - len(written)], *written]
        for found, written in zip(result, groups, strict=True)
    ]


def _split(values: Sequence[Any], groups: Sequence[Sequence[str | None] | None]) -> Iterator[Element]:
    at = 0
    for names in groups:
        row = Element()
        for name in names or ():
            if name is not None and values[at] is not None:
                row.append(Element(name, values[at]))
            at += 1
        yield row


def change(evaluation: Evaluation, source: str, sql: str, parameters: Sequence[Any]) -> None:
    """INSERT, UPDATE and DELETE."""
    _run(evaluation, lambda access: access.change(_source(evaluation, source), sql, parameters))


def passthru(evaluation: Evaluation, source: str, sql: Any, parameters: Sequence[Any]) -> list[Element]:
    """PASSTHRU: rows, if it was a query. One list as the only parameter is spread over the markers."""
    if len(parameters) == 1 and isinstance(parameters[0], list):
        parameters = parameters[0]
    spread = [item.value if isinstance(item, Element) else item for item in parameters]
    found: Rows | None = _run(evaluation, lambda access: access.execute(_source(evaluation, source), str(sql), spread))
    return _rows(found, ()) if found is not None else []


def call(
    evaluation: Evaluation,
    source: str,
    procedure: str,
    arguments: Sequence[Any],
    modes: Sequence[str],
    result_sets: int,
) -> tuple[Any, Sequence[Any], list[list[Element]]]:
    """Call a stored routine: what it returned, its arguments afterwards, and its result sets."""
    outcome: tuple[Any, Sequence[Any], Sequence[Rows]] | None = _run(
        evaluation,
        lambda access: access.call(_source(evaluation, source), procedure, arguments, modes, result_sets),
    )
    if outcome is None:
        return None, arguments, []
    return outcome[0], outcome[1], [_rows(rows, ()) for rows in outcome[2]]


def commit(evaluation: Evaluation, source: str) -> None:
    """COMMIT."""
    _run(evaluation, lambda access: access.commit(_source(evaluation, source)))


def rollback(evaluation: Evaluation, source: str) -> None:
    """ROLLBACK."""
    _run(evaluation, lambda access: access.rollback(_source(evaluation, source)))


def quoted(name: Any) -> str:
    """A computed name of a table, safe inside SQL."""
    if type(name) is not str or not name or "\0" in name:
        raise EsqlError(BAD_NAME, f"the name of a table is CHARACTER, not {name!r}", (name,))
    return '"' + name.replace('"', '""') + '"'


def _source(evaluation: Evaluation, source: str) -> str:
    return source or evaluation.data_source


def _run(evaluation: Evaluation, action: Callable[[DatabaseAccess], Any]) -> Any:
    if evaluation.database is None:
        raise EsqlError(NO_DATABASE, "the node has no database")
    try:
        result = action(evaluation.database)
    except DatabaseError as error:
        evaluation.sqlcode, evaluation.sqlstate = error.code, error.state
        evaluation.sqlerrortext, evaluation.sqlnativeerror = error.text, error.native
        if evaluation.throw_database_errors:
            raise
        return None
    evaluation.sqlcode, evaluation.sqlstate, evaluation.sqlerrortext, evaluation.sqlnativeerror = 0, "00000", "", 0
    return result


def _rows(found: Rows, names: Sequence[str]) -> list[Element]:
    columns = names or found.columns
    rows = []
    for values in found.rows:
        row = Element()
        for name, value in zip(columns, values, strict=True):
            if value is not None:
                row.append(Element(name, value))
        rows.append(row)
    return rows
