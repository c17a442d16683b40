"""EVAL and PROPAGATE."""

import pytest

from flow.language.esql.conftest import DEEP, program
from heliograph.flow.errors import StatementError


def test_eval_as_an_expression_sees_variables(value):
    assert value("EVAL('x + ' || '1')", declare="DECLARE x INTEGER 41;") == 42


def test_eval_as_a_statement_changes_variables_and_trees(run):
    text = "DECLARE x INTEGER 1; EVAL('SET x = x + 1; SET OutputRoot.XML.a = x'); SET Environment.x = x;"
    done = run(text)
    assert (done.value("x"), done.xml) == (2, "<a>2</a>")


def test_eval_calls_routines_and_changes_variables_of_where_it_stands(run):
    main = """DECLARE k INTEGER 4;
    SET Environment.a = EVAL('f(3) + k');
    EVAL('SET k = f(10); SET Environment.b = k;');
    SET Environment.c = EVAL('EVAL(''f(k)'')');"""
    outcome = run(program(DEEP, main))

    assert [outcome.value(name) for name in "abc"] == [7, 10, 10]


def test_eval_may_propagate(run):
    outcome = run("SET OutputRoot.XML.a = 1; EVAL('PROPAGATE TO TERMINAL ''out1'';');")

    assert [(sent.terminal, sent.body) for sent in outcome.sent] == [("out1", "<a>1</a>")]


def test_eval_of_a_text_that_is_no_esql_says_where_it_is_wrong(run):
    with pytest.raises(StatementError, match=r"test.esql:1: .*EVAL:1:4: expected an expression"):
        run("SET Environment.a = EVAL('1 +');")
