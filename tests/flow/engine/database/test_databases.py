"""What ESQL asks of databases, with SQLite and PostgreSQL."""

import subprocess
import sys
from datetime import date, datetime, time
from decimal import Decimal

import pytest

from heliograph.errors import Problem
from heliograph.flow.engine.database import Databases, DataSources
from heliograph.flow.engine.database.postgresql import to_format
from heliograph.flow.errors import DatabaseError
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.times import GmtTime, GmtTimestamp, Interval, Qualifier, time_to_local, to_local
from running import environment


def add(databases, number, name="chair"):
    return databases.change("stock", "INSERT INTO items VALUES (?, ?)", [number, name])


def count(databases):
    return databases.query("stock", "SELECT COUNT(*) FROM items", ()).rows[0][0]


@pytest.mark.usefixtures("items")
def test_rows_come_with_the_names_of_their_columns(databases):
    add(databases, 1)
    rows = databases.query("stock", "SELECT id, name AS title FROM items WHERE id = ?", [1])
    assert list(rows.columns) == ["id", "title"]
    assert [tuple(row) for row in rows.rows] == [(1, "chair")]


@pytest.mark.usefixtures("items")
def test_a_change_says_how_many_rows_it_changed(databases):
    assert add(databases, 1) == 1
    add(databases, 2)
    assert databases.change("stock", "UPDATE items SET name = ?", ["table"]) == 2
    assert databases.change("stock", "DELETE FROM items WHERE id > ?", [5]) == 0


@pytest.mark.usefixtures("items")
def test_what_is_no_query_has_no_columns(databases):
    rows = databases.execute("stock", "UPDATE items SET name = 'x'", ())
    assert (list(rows.columns), list(rows.rows)) == ([], [])


@pytest.mark.usefixtures("items")
def test_a_question_mark_in_a_text_is_no_parameter(databases):
    sql = "SELECT 'why? 100%', CAST(? AS INTEGER) -- really?\n"
    assert tuple(databases.execute("stock", sql, [3]).rows[0]) == ("why? 100%", 3)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a = ? AND b = ?", "a = %s AND b = %s"),
        ("a LIKE '%?%' OR b = ?", "a LIKE '%%?%%' OR b = %s"),
        ('"odd?" = ? /* ? */', '"odd?" = %s /* ? */'),
        ("$$ ? $$ || ?", "$$ ? $$ || %s"),
        ("'it''s ?' || ?", "'it''s ?' || %s"),
    ],
)
def test_parameters_are_found_where_they_are(sql, expected):
    assert to_format(sql) == expected


VALUES = [
    ("SMALLINT", 3),
    ("INTEGER", -5),
    ("BIGINT", 2**62),
    ("REAL", 0.5),
    ("DOUBLE PRECISION", 0.1),
    ("DECIMAL(12,2)", Decimal("44.75")),
    ("NUMERIC", Decimal(12)),
    ("VARCHAR(20)", "grün"),
    ("TEXT", ""),
    ("BOOLEAN", True),
    ("BOOLEAN", False),
    ("DATE", date(2004, 2, 29)),
    ("TIME", time(23, 59, 1, 250000)),
    ("TIMESTAMP", datetime(2004, 2, 29, 12, 0, 1)),
    ("TIMESTAMP", datetime(2004, 2, 29, 12, 0, 1, 5)),
]


@pytest.mark.parametrize(("column", "value"), VALUES, ids=[f"{column}-{value}" for column, value in VALUES])
def test_a_value_comes_back_as_it_was(databases, column, value):
    databases.execute("stock", "DROP TABLE IF EXISTS kept", ())
    databases.execute("stock", f"CREATE TABLE kept (v {column})", ())
    databases.change("stock", "INSERT INTO kept VALUES (?)", [value])
    databases.change("stock", "INSERT INTO kept VALUES (?)", [None])
    found = [row[0] for row in databases.query("stock", "SELECT v FROM kept", ()).rows]
    databases.rollback_all()
    assert [type(each) for each in found] == [type(value), type(None)]
    assert found == [value, None]


def test_bytes_come_back_as_they_were(databases, url):
    databases.execute("stock", f"CREATE TABLE kept (v {'BYTEA' if url else 'BLOB'})", ())
    databases.change("stock", "INSERT INTO kept VALUES (?)", [b"\x00\xff"])
    assert databases.query("stock", "SELECT v FROM kept", ()).rows[0][0] == b"\x00\xff"
    databases.rollback_all()


def test_greenwich_times_are_stored_as_local_ones(databases):
    databases.execute("stock", "CREATE TABLE kept (t TIME, m TIMESTAMP)", ())
    clock, moment = GmtTime(time(12, 0)), GmtTimestamp(datetime(2004, 7, 1, 12, 0))
    databases.change("stock", "INSERT INTO kept VALUES (?, ?)", [clock, moment])
    found = databases.query("stock", "SELECT t, m FROM kept", ()).rows[0]
    databases.rollback_all()
    assert tuple(found) == (time_to_local(clock), to_local(moment))


@pytest.mark.parametrize("value", [Bits("01"), Interval(3, Qualifier.DAY)], ids=["bit", "interval"])
def test_bits_and_intervals_cannot_be_stored(databases, value):
    with pytest.raises(DatabaseError, match="cannot be stored"):
        databases.query("stock", "SELECT ?", [value])


ERRORS = [
    ("INSERT INTO items VALUES (1, 'twice')", "23505", "23505"),
    ("INSERT INTO items VALUES (2, NULL)", "23502", "23502"),
    ("SELECT * FROM nowhere", "42S02", "42P01"),
    ("SELECT absent FROM items", "42S22", "42703"),
    ("SELEKT", "42000", "42601"),
]


@pytest.mark.usefixtures("items")
@pytest.mark.parametrize(("sql", "in_sqlite", "in_postgresql"), ERRORS, ids=[sql for sql, _, _ in ERRORS])
def test_an_error_has_the_state_that_the_standard_gives_it(databases, url, sql, in_sqlite, in_postgresql):
    add(databases, 1)
    with pytest.raises(DatabaseError) as raised:
        databases.execute("stock", sql, ())
    assert raised.value.state == (in_postgresql if url else in_sqlite)
    assert (raised.value.code, bool(raised.value.native)) == (-1, True)
    assert "data source stock: " in raised.value.text


@pytest.mark.usefixtures("items")
def test_a_statement_that_fails_leaves_the_others_alone(databases, other):
    """So that a program that looks at SQLCODE itself, or a catch path, can go on."""
    add(databases, 1)
    for sql in ("INSERT INTO items VALUES (1, 'twice')", "SELECT * FROM nowhere", "INSERT INTO items VALUES (2, NULL)"):
        with pytest.raises(DatabaseError):
            databases.execute("stock", sql, ())
        add(databases, count(databases) + 10)
    databases.commit_all()
    assert count(other) == 4


@pytest.mark.usefixtures("items")
def test_changes_are_seen_by_others_when_the_unit_of_work_is_committed(databases, other):
    add(databases, 1)
    assert (databases.touched, count(other)) == (True, 0)
    databases.commit_all()
    assert (databases.touched, count(other)) == (False, 1)


@pytest.mark.usefixtures("items")
def test_changes_are_undone_with_the_unit_of_work(databases):
    add(databases, 1)
    databases.rollback_all()
    assert (databases.touched, count(databases)) == (False, 0)


@pytest.mark.usefixtures("items")
def test_a_program_can_commit_and_roll_back_itself(databases, other):
    add(databases, 1)
    databases.commit("stock")
    add(databases, 2)
    databases.rollback("stock")
    assert count(other) == 1


@pytest.mark.usefixtures("items")
def test_what_a_node_commits_at_once_stays(databases, other):
    node = databases.view(commit=True)
    node.change("stock", "INSERT INTO items VALUES (?, ?)", [7, "kept"])
    databases.rollback_all()
    assert count(other) == 1


@pytest.mark.usefixtures("items")
def test_reading_begins_no_unit_of_work(databases):
    count(databases)
    assert not databases.touched
    assert databases.open_sources() == []


def test_a_data_source_that_is_not_declared_is_named_with_one_that_is(databases):
    with pytest.raises(DatabaseError, match="no data source stokc; did you mean stock"):
        databases.query("stokc", "SELECT 1", ())


def test_the_data_source_without_a_name_is_embedded(tmp_path):
    databases = Databases(DataSources({}, tmp_path / "state"))
    databases.execute("", "CREATE TABLE t (a INTEGER)", ())
    databases.commit_all()
    databases.close()
    assert (tmp_path / "state/flow.db").exists()


@pytest.mark.parametrize("url", ["oracle://x/y", "nonsense"])
def test_a_wrong_url_is_told_at_once(url, tmp_path):
    with pytest.raises(Problem, match="data source stock: expected"):
        DataSources({"stock": url}, tmp_path)


def test_a_database_that_is_not_there_is_a_database_error(tmp_path):
    databases = Databases(DataSources({"far": f"postgresql://flow:secret@/x?host={tmp_path}"}, tmp_path))
    with pytest.raises(DatabaseError, match="cannot connect") as raised:
        databases.query("far", "SELECT 1", ())
    assert raised.value.state == "08001"
    assert "secret" not in raised.value.text


def test_sqlite_has_no_stored_procedures(tmp_path):
    with pytest.raises(DatabaseError, match="no stored procedures"):
        Databases(DataSources({}, tmp_path)).call("", "p", [], [], 0)


def test_a_driver_that_is_not_installed_is_told_with_what_brings_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    sources = DataSources({"stock": "postgresql://nowhere/stock"}, tmp_path)
    with pytest.raises(Problem, match=r"psycopg.*pip install 'heliograph\[postgresql\]'"):
        sources.connect("stock")


def test_a_flow_without_databases_does_without_their_libraries():
    """They take longer to import than a small flow takes to start."""
    code = "import sys, heliograph.flow.inline.execution_groups; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], env=environment(), check=True, capture_output=True, text=True)
    assert {"sqlalchemy", "psycopg", "xmlschema", "h11"}.isdisjoint(loaded.stdout.split())
