"""What only PostgreSQL does: stored routines, warnings, two phases."""

from datetime import datetime
from decimal import Decimal

import pytest

from heliograph.errors import Problem
from heliograph.flow.engine.database import Databases, DataSources
from heliograph.flow.engine.database.two_phase import TwoPhase, owner_name
from heliograph.flow.errors import DatabaseError

ROUTINES = """
CREATE OR REPLACE FUNCTION twice(n INTEGER) RETURNS INTEGER LANGUAGE sql AS 'SELECT n * 2';
CREATE OR REPLACE FUNCTION split(n INTEGER, OUT tens INTEGER, OUT ones INTEGER) LANGUAGE sql AS 'SELECT n / 10, n % 10';
CREATE OR REPLACE FUNCTION numbers(n INTEGER) RETURNS TABLE (i INTEGER) LANGUAGE sql AS 'SELECT generate_series(1, n)';
CREATE OR REPLACE PROCEDURE raise_price(INOUT price NUMERIC, IN by_ NUMERIC) LANGUAGE plpgsql AS
    $$ BEGIN price := price + by_; END $$;
CREATE OR REPLACE FUNCTION opened(n INTEGER) RETURNS SETOF refcursor LANGUAGE plpgsql AS $$
    DECLARE a refcursor := 'first?'; b refcursor := 'second';
    BEGIN OPEN a FOR SELECT n; RETURN NEXT a; OPEN b FOR SELECT n + 1; RETURN NEXT b; END $$;
CREATE OR REPLACE FUNCTION doubtful() RETURNS INTEGER LANGUAGE plpgsql AS
    $$ BEGIN RAISE WARNING 'hm'; RETURN 1; END $$;
"""


@pytest.fixture
def url(postgresql):
    return postgresql


@pytest.fixture
def routines(databases):
    databases.committing.execute("stock", ROUTINES, ())


@pytest.mark.usefixtures("routines")
def test_a_function_returns_its_value(databases):
    assert databases.call("stock", "twice", [21], ["IN"], 0) == (42, [21], [])


@pytest.mark.usefixtures("routines")
def test_a_function_sets_its_outputs(databases):
    assert databases.call("stock", "public.split", [42, None, None], ["IN", "OUT", "OUT"], 0)[1] == [42, 4, 2]


@pytest.mark.usefixtures("routines")
def test_a_procedure_changes_its_arguments(databases):
    arguments = [Decimal("1.50"), Decimal("0.25")]
    assert databases.call("stock", "raise_price", arguments, ["INOUT", "IN"], 0) == (
        None,
        [Decimal("1.75"), Decimal("0.25")],
        [],
    )


@pytest.mark.usefixtures("routines")
def test_the_rows_of_a_function_are_a_result_set(databases):
    (rows,) = databases.call("stock", "numbers", [3], ["IN"], 1)[2]
    assert [row[0] for row in rows.rows] == [1, 2, 3]


@pytest.mark.usefixtures("routines")
@pytest.mark.parametrize("commit", [False, True])
def test_cursors_are_result_sets(databases, commit):
    sets = databases.view(commit=commit).call("stock", "opened", [5], ["IN"], 2)[2]
    assert [[tuple(row) for row in rows.rows] for rows in sets] == [[(5,)], [(6,)]]


@pytest.mark.parametrize(("name", "state"), [("missing", "42883"), ("drop table x; --", "42602")])
def test_a_routine_that_is_not_there_is_an_error(databases, name, state):
    with pytest.raises(DatabaseError) as raised:
        databases.call("stock", name, [], [], 0)
    assert raised.value.state == state


@pytest.mark.usefixtures("routines")
def test_a_warning_is_an_error_where_the_node_says_so(databases):
    assert databases.view().query("stock", "SELECT doubtful()", ()).rows
    with pytest.raises(DatabaseError, match="hm") as raised:
        databases.view(warnings_are_errors=True).query("stock", "SELECT doubtful()", ())
    assert (raised.value.state, raised.value.code) == ("01000", 1)
    assert databases.view(warnings_are_errors=True).query("stock", "SELECT 1", ()).rows


OTHER_TYPES = [
    ("'12.50'::money", Decimal("12.50")),
    ("'{\"a\": 1}'::json", '{"a": 1}'),
    ("'c0ffee00-0000-0000-0000-000000000000'::uuid", "c0ffee00-0000-0000-0000-000000000000"),
    ("TIMESTAMPTZ '2004-02-29 12:00:00Z'", datetime.fromisoformat("2004-02-29T12:00:00+00:00")),
]


@pytest.mark.parametrize(("sql", "expected"), OTHER_TYPES, ids=[sql for sql, _ in OTHER_TYPES])
def test_other_types_come_as_the_nearest_that_esql_has(databases, sql, expected):
    if isinstance(expected, datetime):
        expected = expected.astimezone().replace(tzinfo=None)
    assert databases.query("stock", f"SELECT {sql}", ()).rows[0][0] == expected


def test_a_connection_that_died_between_units_of_work_is_made_again(databases, other):
    (pid,) = databases.query("stock", "SELECT pg_backend_pid()", ()).rows[0]
    other.query("stock", "SELECT pg_terminate_backend(?)", [pid])
    assert databases.query("stock", "SELECT 1", ()).rows[0][0] == 1


def test_a_connection_that_dies_within_a_unit_of_work_fails_it(databases, other):
    databases.execute("stock", "SELECT 1", ())
    (pid,) = databases.query("stock", "SELECT pg_backend_pid()", ()).rows[0]
    other.query("stock", "SELECT pg_terminate_backend(?)", [pid])
    with pytest.raises(DatabaseError):
        databases.query("stock", "SELECT 1", ())
    databases.rollback_all()
    assert databases.query("stock", "SELECT 1", ()).rows[0][0] == 1


# Two phases


@pytest.fixture
def phases(databases, sources):
    return TwoPhase(databases, sources, owner_name("shop", "0"))


def add(databases, number):
    databases.change("stock", "INSERT INTO items VALUES (?, 'x')", [number])


def numbers(databases):
    return [row[0] for row in databases.query("stock", "SELECT id FROM items ORDER BY id", ()).rows]


@pytest.mark.usefixtures("items")
@pytest.mark.parametrize("commit", [True, False])
def test_a_prepared_unit_is_decided_later(databases, other, phases, commit):
    add(databases, 1)
    used = phases.prepare(1)
    assert (used, numbers(other)) == (["stock"], [])
    phases.finish(1, used, commit=commit)
    assert numbers(other) == ([1] if commit else [])


@pytest.mark.usefixtures("items")
def test_a_unit_without_changes_prepares_nothing(phases):
    assert phases.prepare(1) == []


@pytest.mark.usefixtures("items")
def test_recovery_commits_what_the_server_has_committed_and_undoes_the_rest(databases, sources, phases):
    for unit in (1, 2, 3):
        add(databases, unit)
        phases.prepare(unit)
    databases.close()
    survivor = Databases(sources)
    found = TwoPhase(survivor, sources, owner_name("shop", "0")).recover(2)
    assert list(found.values()) == [True, True, False]
    assert numbers(survivor) == [1, 2]
    assert TwoPhase(survivor, sources, owner_name("shop", "0")).recover(2) == {}
    survivor.close()


@pytest.mark.usefixtures("items")
def test_recovery_leaves_other_instances_alone(databases, sources, phases):
    add(databases, 1)
    used = phases.prepare(1)
    assert TwoPhase(databases, sources, owner_name("shop", "1")).recover(9) == {}
    phases.finish(1, used, commit=True)


def test_a_unit_that_cannot_be_prepared_is_undone(databases, phases, other):
    databases.execute("stock", "CREATE TABLE IF NOT EXISTS once (id INTEGER UNIQUE DEFERRABLE INITIALLY DEFERRED)", ())
    databases.commit_all()
    databases.execute("stock", "INSERT INTO once VALUES (1), (1)", ())
    with pytest.raises(DatabaseError):
        phases.prepare(1)
    assert other.query("stock", "SELECT * FROM once", ()).rows == []
    assert phases.recover(1) == {}


def test_an_embedded_database_cannot_be_coordinated(tmp_path):
    sources = DataSources({"small": None}, tmp_path)
    with pytest.raises(Problem, match="data source small is SQLite"):
        TwoPhase(Databases(sources), sources, "x")


def test_long_names_stay_apart():
    assert owner_name("f" * 200, "0") != owner_name("f" * 200, "1")
    assert len(owner_name("f" * 200, "0")) < 120


# Without care


@pytest.mark.usefixtures("items")
def test_without_care_a_statement_that_fails_spoils_the_unit_of_work(databases, other):
    databases.take_care(False)
    insert = "INSERT INTO items VALUES (?, ?)"
    databases.change("stock", insert, [1, "a"])
    with pytest.raises(DatabaseError, match="duplicate key"):
        databases.change("stock", insert, [1, "a"])
    assert databases.spoilt
    for end in (databases.commit, databases.rollback):  # as ESQL does
        with pytest.raises(DatabaseError, match="has failed"):
            end("stock")
    with pytest.raises(DatabaseError, match="has failed"):
        databases.commit_all()
    databases.rollback_all()
    assert not databases.spoilt
    databases.take_care(True)
    databases.change("stock", insert, [1, "a"])
    with pytest.raises(DatabaseError, match="duplicate key"):
        databases.change("stock", insert, [1, "a"])
    databases.commit_all()
    assert other.query("stock", "SELECT * FROM items", ()).rows == [[1, "a"]]


@pytest.mark.usefixtures("items")
def test_a_unit_of_work_that_was_ended_on_the_way_is_not_spoilt(databases):
    databases.take_care(False)
    insert = "INSERT INTO items VALUES (?, ?)"
    databases.change("stock", insert, [1, "a"])
    databases.commit("stock")
    databases.take_care(False)  # what is committed would be done again
    databases.change("stock", insert, [2, "b"])
    with pytest.raises(DatabaseError, match="duplicate key"):
        databases.change("stock", insert, [1, "a"])
    assert not databases.spoilt
    databases.commit_all()
    assert databases.query("stock", "SELECT count(*) FROM items", ()).rows == [[2]]
