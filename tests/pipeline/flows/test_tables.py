"""Rows of a task are in a table once, whatever is repeated."""

import sqlite3

import pyarrow as pa
import pytest

from heliograph.errors import Problem
from heliograph.pipeline.flows.effect_rows import SCHEMA, EffectRows
from heliograph.pipeline.flows.outlets.tables import TableRows
from heliograph.pipeline.sink.part import Part
from pipeline.flows.stream_rows import stream_rows


@pytest.fixture
def database(tmp_path):
    """Asks the database."""

    def ask(sql):
        with sqlite3.connect(tmp_path / "out.db") as connection:
            return connection.execute(sql).fetchall()

    ask.url = f"sqlite:///{tmp_path / 'out.db'}"
    return ask


def write(database, batch, values, partition=0):
    rows = TableRows(Part("query", batch, partition))
    rows.add(database.url, "READINGS", pa.table({"n": values}))
    rows.write()


def test_rows_are_written_and_the_table_is_made_if_need_be(database):
    write(database, 0, [1, 2])
    write(database, 0, [3], partition=1)
    write(database, 1, [4])
    assert database("SELECT n FROM READINGS ORDER BY n") == [(1,), (2,), (3,), (4,)]


def test_a_task_that_is_repeated_writes_nothing(database):
    write(database, 0, [1])
    write(database, 1, [2])
    write(database, 1, [2])
    assert database("SELECT n FROM READINGS ORDER BY n") == [(1,), (2,)]


def test_notes_do_not_grow_with_batches(database):
    for batch in range(5):
        write(database, batch, [batch])
    assert database('SELECT "query", part, batch FROM heliograph_batches') == [("query", 0, 4)]


def test_outputs_with_different_columns_cannot_share_a_table(database):
    rows = TableRows(Part("query", 0, 0))
    rows.add(database.url, "READINGS", pa.table({"n": [1]}))
    rows.add(database.url, "READINGS", pa.table({"n": ["one"]}))
    with pytest.raises(Problem, match=r"table READINGS gets rows of several.*found \(n int64\) and \(n string\)"):
        rows.write()


def test_outputs_with_the_same_columns_share_a_table(database):
    rows = TableRows(Part("query", 0, 0))
    for value in (1, 2):
        rows.add(database.url, "READINGS", pa.table({"n": [value]}))
    rows.write()
    assert database("SELECT n FROM READINGS ORDER BY n") == [(1,), (2,)]


def test_rows_that_the_table_does_not_take_leave_no_note(database):
    database("CREATE TABLE READINGS (n INTEGER UNIQUE)")
    with pytest.raises(Problem, match="table READINGS cannot be written: UNIQUE constraint failed"):
        write(database, 0, [1, 1])
    write(database, 0, [1])
    assert database("SELECT n FROM READINGS") == [(1,)]


def test_columns_that_a_table_does_not_have_are_told(database):
    database("CREATE TABLE READINGS (m INTEGER)")
    with pytest.raises(Problem, match="table READINGS has no column n; it has: m"):
        write(database, 0, [1])


def test_outputs_of_a_flow_fit_into_a_table(database):
    from heliograph.flow.engine.outcome import Put
    from heliograph.flow.formats.envelope import Envelope

    effects = EffectRows(stream_rows([b"x"]))
    effects.add(0, 0, Put("Q", Envelope(b"body", properties={"a": 1}), transactional=True, node="out"))
    rows = TableRows(Part("query", 0, 0))
    rows.add(database.url, "OUTPUTS", pa.Table.from_batches([effects.batch(SCHEMA)]))
    rows.write()
    found = database('SELECT stream, "partition", "offset", destination, payload, properties FROM OUTPUTS')
    assert found == [("s", 0, 0, "Q", b"body", '{"a": "1"}')]
