"""Statements on databases: what comes back, and what SQLCODE and its like say afterwards."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest

from heliograph.flow.errors import DatabaseError, EsqlError
from heliograph.flow.formats import Catalogue
from heliograph.flow.language.esql.runtime import database_statements
from heliograph.flow.language.esql.runtime.evaluation import Evaluation, Rows
from heliograph.flow.tree import Element


class Database:
    """Answers every query with the same rows, or fails."""

    def __init__(self, columns: Sequence[str] = (), rows: Sequence[Sequence[Any]] = (), fails: bool = False) -> None:
        self.answer = Rows(columns, rows)
        self.fails = fails
        self.asked: list[tuple[Any, ...]] = []

    def query(self, source: str, sql: str, parameters: Sequence[Any]) -> Rows:
        self.asked.append((source, sql, tuple(parameters)))
        if self.fails:
            raise DatabaseError("no such table", "42P01", -204, 7)
        return self.answer

    execute = query

    def change(self, source: str, sql: str, parameters: Sequence[Any]) -> int:
        return len(self.query(source, sql, parameters).rows)

    def call(
        self, source: str, procedure: str, arguments: Sequence[Any], modes: Sequence[str], result_sets: int
    ) -> tuple[Any, Sequence[Any], Sequence[Rows]]:
        return 5, arguments, [self.query(source, procedure, modes)] * result_sets

    def commit(self, source: str) -> None:
        self.asked.append((source, "COMMIT"))

    def rollback(self, source: str) -> None:
        self.asked.append((source, "ROLLBACK"))


def _evaluation(database: Database | None, throws: bool = True) -> Evaluation:
    return Evaluation(
        Element("Root"),
        catalogue=Catalogue(),
        now=datetime(2004, 9, 30),
        database=database,
        data_source="OWN",
        throw_database_errors=throws,
    )


def _plain(row: Element) -> dict[str, Any]:
    return {child.name: child.value for child in row.children}


def test_a_column_that_is_null_makes_no_field() -> None:
    database = Database(["A", "B"], [(1, None), (2, 3)])
    found = database_statements.query(_evaluation(database), "", "SELECT", (), [("a", "b")])
    assert [_plain(row) for (row,) in found] == [{"a": 1}, {"a": 2, "b": 3}]
    assert database.asked == [("OWN", "SELECT", ())]


def test_columns_of_several_tables_are_told_apart() -> None:
    mark = database_statements.NEXT_TABLE
    database = Database(["A", mark, "B"], [(1, None, 2)])
    ((first, second),) = database_statements.query(_evaluation(database), "S", "SELECT", (), [None, None])
    assert (_plain(first), _plain(second)) == ({"A": 1}, {"B": 2})


def test_one_list_is_spread_over_the_markers() -> None:
    database = Database()
    database_statements.passthru(_evaluation(database), "", "SQL", [[1, Element("a", 2)]])
    assert database.asked[0][2] == (1, 2)


def test_a_routine_gives_result_arguments_and_rows() -> None:
    evaluation = _evaluation(Database(["A"], [(1,)]))
    result, arguments, sets = database_statements.call(evaluation, "", "P", [7], ["IN"], 1)
    assert (result, arguments, [_plain(row) for row in sets[0]]) == (5, [7], [{"A": 1}])


def test_transactions_go_to_the_source_of_the_node() -> None:
    database = Database()
    database_statements.commit(_evaluation(database), "")
    database_statements.rollback(_evaluation(database), "OTHER")
    assert database.asked == [("OWN", "COMMIT"), ("OTHER", "ROLLBACK")]


def test_an_error_is_raised_and_shown() -> None:
    evaluation = _evaluation(Database(fails=True))
    with pytest.raises(DatabaseError):
        database_statements.change(evaluation, "", "INSERT", ())
    assert (evaluation.sqlcode, evaluation.sqlstate, evaluation.sqlnativeerror) == (-204, "42P01", 7)


def test_a_program_that_looks_itself_sees_the_error_and_then_success() -> None:
    database = Database(fails=True)
    evaluation = _evaluation(database, throws=False)
    assert database_statements.query(evaluation, "", "SELECT", (), [None]) == []
    assert database_statements.call(evaluation, "", "P", [7], ["IN"], 1) == (None, [7], [])
    assert evaluation.sqlerrortext == "no such table"
    database.fails = False
    database_statements.change(evaluation, "", "INSERT", ())
    assert (evaluation.sqlcode, evaluation.sqlstate, evaluation.sqlerrortext) == (0, "00000", "")


def test_a_node_without_a_database_says_so() -> None:
    with pytest.raises(EsqlError, match="the node has no database"):
        database_statements.commit(_evaluation(None), "")


def test_a_computed_name_cannot_leave_its_quotes() -> None:
    assert database_statements.quoted('a"; DROP TABLE b') == '"a""; DROP TABLE b"'
    for name in ("", None, 5, "a\0"):
        with pytest.raises(EsqlError, match="the name of a table is CHARACTER"):
            database_statements.quoted(name)
