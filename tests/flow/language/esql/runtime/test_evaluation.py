"""What outlives a run, and what a run is handed from outside."""

from flow.language.esql.conftest import module
from heliograph.flow.language.esql.runtime.evaluation import SharedVariables


def test_shared_variables_outlive_a_message(run):
    text = module("BEGIN ATOMIC SET n = n + 1; SET Environment.n = n; END;", declarations="DECLARE n SHARED INTEGER 0;")
    shared = SharedVariables()
    assert [run(text, shared=shared).value("n") for _ in range(3)] == [1, 2, 3]


def test_shared_rows_keep_their_fields(run):
    text = module(
        "SET Environment.before = COALESCE(Cache.{'k'}, 'none'); SET Cache.k = 'v';",
        declarations="DECLARE Cache SHARED ROW;",
    )
    shared = SharedVariables()
    assert [run(text, shared=shared).value("before") for _ in range(2)] == ["none", "v"]


def test_variables_of_a_module_start_again_with_each_message(run):
    text = module(
        "CALL P(); SET Environment.n = n;",
        declarations="DECLARE n INTEGER 0;",
        routines="CREATE PROCEDURE P() BEGIN SET n = n + 1; END;",
    )
    shared = SharedVariables()
    assert [run(text, shared=shared).value("n") for _ in range(2)] == [1, 1]


def test_external_variables_come_from_outside(run):
    text = module("SET Environment.x = Limit_;", declarations="DECLARE Limit_ EXTERNAL INTEGER 10;")
    assert run(text).value("x") == 10
    assert run(text, external={"Limit_": "20"}).value("x") == 20


def test_broker_properties(value):
    assert value("MessageFlowLabel", properties={"MessageFlowLabel": "orders"}) == "orders"
