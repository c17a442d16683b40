"""Databases: the SQL that is made, and what comes of its rows."""

import sqlite3

import pytest

from heliograph.errors import Problem
from heliograph.flow.errors import DatabaseError, StatementError
from heliograph.flow.language.esql.runtime.evaluation import Rows


class Database:
    """A database in memory that remembers what it was asked."""

    def __init__(self):
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.asked = []
        self.connection.executescript(
            """CREATE TABLE PRICES (PARTNO INTEGER, PRICE FLOAT, NOTE TEXT);
            INSERT INTO PRICES VALUES (1, 25.0, 'a'), (2, 6.5, NULL);
            CREATE TABLE ADDRESSES (PARTNO INTEGER, CITY TEXT);
            INSERT INTO ADDRESSES VALUES (1, 'East Cheam'), (2, 'Watership Down');"""
        )

    def execute(self, source, sql, parameters):
        self.asked.append((source, sql, tuple(parameters)))
        try:
            cursor = self.connection.execute(sql, tuple(parameters))
        except sqlite3.Error as error:
            raise DatabaseError(str(error), "42S02", -1, 1) from None
        return Rows([column[0] for column in cursor.description or ()], cursor.fetchall())

    query = execute

    def change(self, source, sql, parameters):
        self.execute(source, sql, parameters)
        return self.connection.total_changes

    def call(self, source, procedure, arguments, modes, result_sets):
        self.asked.append((source, procedure, tuple(arguments), tuple(modes), result_sets))
        return 5, [*arguments[:-1], "out"], [Rows(["N"], [[1], [2]])] * result_sets

    def commit(self, source):
        self.asked.append((source, "COMMIT", ()))

    def rollback(self, source):
        self.asked.append((source, "ROLLBACK", ()))

    def rows(self):
        return self.connection.execute("SELECT * FROM PRICES ORDER BY PARTNO").fetchall()


@pytest.fixture
def database():
    return Database()


def test_select_takes_the_columns_it_needs_and_leaves_the_choice_to_the_database(run, database):
    text = """SET OutputRoot.XML.x.r[] = SELECT P.Price AS Cost, P.Note AS Note FROM Database.PRICES AS P
        WHERE P.PartNo = InputBody.n;"""
    done = run(text, "<n>1</n>", database=database, data_source="D")
    assert database.asked == [("D", "SELECT P.Price, P.Note, P.PartNo FROM PRICES AS P WHERE (P.PartNo = ?)", ("1",))]
    assert done.xml == "<x><r><Cost>2.5E+1</Cost><Note>a</Note></r></x>"


def test_a_null_column_makes_no_field(run, database):
    text = "SET OutputRoot.XML.x.r[] = SELECT P.NOTE, P.PARTNO FROM Database.PRICES AS P WHERE P.PARTNO = 2;"
    assert run(text, database=database).xml == "<x><r><PARTNO>2</PARTNO></r></x>"


def test_what_sql_cannot_say_is_decided_row_by_row(run, database):
    text = """SET Environment.n = SELECT COUNT(*) FROM Database.PRICES AS P
        WHERE P.PRICE > 1 AND CAST(P.PARTNO AS CHARACTER) = '2';"""
    assert run(text, database=database).value("n") == 1
    assert database.asked[0][1] == "SELECT P.PRICE, P.PARTNO FROM PRICES AS P WHERE (P.PRICE > ?)"


def test_tables_join_with_each_other_and_with_fields_of_the_message(run, database):
    text = """SET OutputRoot.XML.x.r[] = SELECT A.CITY AS City, P.PRICE AS Price, I AS Part
        FROM Database.PRICES AS P, Database.ADDRESSES AS A, InputBody.m.i[] AS I
        WHERE P.PARTNO = A.PARTNO AND P.PARTNO = I;"""
    assert run(text, "<m><i>2</i></m>", database=database).xml == (
        "<x><r><City>Watership Down</City><Price>6.5E+0</Price><Part>2</Part></r></x>"
    )
    assert "WHERE (P.PARTNO = A.PARTNO)" in database.asked[0][1]


def test_all_columns_keep_the_names_of_the_database(run, database):
    text = "SET OutputRoot.XML.x.r[] = SELECT * FROM Database.ADDRESSES AS A WHERE A.PARTNO = 1;"
    assert run(text, database=database).xml == "<x><r><PARTNO>1</PARTNO><CITY>East Cheam</CITY></r></x>"


def test_sources_and_schemas_are_named_before_the_table(run, database):
    run(
        "SET Environment.x[] = SELECT T.a FROM Database.DSN.main.PRICES AS T;",
        database=database,
        throw_database_errors=False,
    )
    assert database.asked[0][:2] == ("DSN", "SELECT T.a FROM main.PRICES AS T")


def test_insert_update_delete(run, database):
    run("INSERT INTO Database.PRICES (PARTNO, PRICE) VALUES (InputBody.n, 1.5);", "<n>3</n>", database=database)
    run(
        "UPDATE Database.PRICES AS P SET PRICE = P.PRICE + 1, NOTE = InputBody.t WHERE P.PARTNO > 1;",
        "<t>x</t>",
        database=database,
    )
    run("DELETE FROM Database.PRICES AS P WHERE P.PARTNO = 1;", database=database)
    assert database.rows() == [(2, 7.5, "x"), (3, 2.5, "x")]


def test_an_update_that_sql_cannot_say_is_refused(run, database):
    with pytest.raises(Problem, match="SQL"):
        run("UPDATE Database.PRICES AS P SET NOTE = CAST(P.PRICE AS CHARACTER);", database=database)


def test_passthru_spreads_a_list_over_the_markers(run, database):
    text = """SET OutputRoot.XML.x.r[] = PASSTHRU('SELECT CITY FROM ADDRESSES WHERE PARTNO IN (?, ?) ORDER BY CITY'
        TO Database.D VALUES(InputBody.m.i[]));"""
    assert run(text, "<m><i>1</i><i>2</i></m>", database=database).xml == (
        "<x><r><CITY>East Cheam</CITY></r><r><CITY>Watership Down</CITY></r></x>"
    )
    assert database.asked[0][0] == "D"


def test_passthru_as_a_statement(run, database):
    run("PASSTHRU('DELETE FROM PRICES WHERE PARTNO = ?', 1);", database=database)
    assert [row[0] for row in database.rows()] == [2]


def test_commit_and_rollback(run, database):
    run("COMMIT; ROLLBACK Database.D;", database=database, data_source="X")
    assert database.asked == [("X", "COMMIT", ()), ("D", "ROLLBACK", ())]


def test_a_database_error_is_an_exception_with_the_database_state(run, database):
    text = """BEGIN DECLARE EXIT HANDLER FOR SQLSTATE LIKE 'D42%' SET Environment.state = SQLSTATE;
        INSERT INTO Database.NONE VALUES (1); END;"""
    assert run(text, database=database).value("state") == "D42S02"
    with pytest.raises(StatementError):
        run("INSERT INTO Database.NONE VALUES (1);", database=database)


def test_without_exceptions_the_program_looks_at_sqlcode(run, database):
    text = "INSERT INTO Database.NONE VALUES (1); SET Environment.code = SQLCODE; SET Environment.state = SQLSTATE;"
    done = run(text, database=database, throw_database_errors=False)
    assert (done.value("code"), done.value("state")) == (-1, "42S02")


def test_a_stored_procedure_gives_parameters_and_result_sets(run, database):
    text = """CREATE COMPUTE MODULE M
        CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
            CALL P(1, Environment.out, Environment.set[]); RETURN TRUE; END;
        CREATE PROCEDURE P(IN a INTEGER, OUT b CHARACTER) LANGUAGE DATABASE DYNAMIC RESULT SETS 1 EXTERNAL NAME "s.p";
        END MODULE;"""
    done = run(text, database=database)
    assert database.asked == [("", "s.p", (1, None), ("IN", "OUT"), 1)]
    assert (done.value("out"), done.value("set", "N")) == ("out", 1)


def test_a_node_without_a_database_says_so(run):
    with pytest.raises(StatementError, match="no database"):
        run("DELETE FROM Database.T;")
