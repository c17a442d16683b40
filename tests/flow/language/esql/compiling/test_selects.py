"""SELECT over trees: loops that make rows."""

import pytest

from flow.language.esql.conftest import XML
from heliograph.errors import Problem


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        pytest.param("SELECT A FROM InputBody.m.a[] AS A", "<r>x</r><r>y</r><r>z</r>", id="the field itself"),
        pytest.param("SELECT I.v AS w FROM InputBody.m.l.i[] AS I WHERE I.v > 10", "<r><w>20</w></r>", id="where"),
        pytest.param(
            "SELECT I.v FROM InputBody.m.l.i[] AS I", "<r><v>10</v></r><r><v>20</v></r><r/>", id="no null fields"
        ),
        pytest.param(
            "SELECT I.* FROM InputBody.m.l.i[] AS I WHERE I.v = 10",
            '<r k="1"/>',
            id="a wildcard keeps the field's name",
        ),
        pytest.param("SELECT I INSERT FROM InputBody.m.l.i[2] AS I", '<r k="2"><v>20</v></r>', id="insert"),
        pytest.param("SELECT * FROM InputBody.m.l.i[2] AS I", '<r k="2"><v>20</v></r>', id="star"),
        pytest.param(
            "SELECT I.v AS v, A AS a FROM InputBody.m.l.i[1] AS I, InputBody.m.a[] AS A WHERE A > 'x'",
            "<r><v>10</v><a>y</a></r><r><v>10</v><a>z</a></r>",
            id="join",
        ),
        pytest.param(
            "SELECT J.v AS v FROM InputBody.m.l[] AS L, L.i[] AS J WHERE J.v IS NOT NULL",
            "<r><v>10</v></r><r><v>20</v></r>",
            id="later items see earlier ones",
        ),
        pytest.param("LIST{ROW(1 AS a), ROW(2 AS a)}", "<r><a>1</a></r><r><a>2</a></r>", id="list of rows"),
    ],
)
def test_select_into_a_list(run, select, expected):
    text = f"CREATE FIELD OutputRoot.XML.x; SET OutputRoot.XML.x.r[] = {select};"
    assert run(text, XML).xml == f"<x>{expected}</x>"


def test_a_value_without_a_name_in_a_select_is_refused(run):
    with pytest.raises(Problem, match="AS name"):
        run("SET OutputRoot.XML.x[] = SELECT 1 + 1 FROM InputBody.a[] AS A;")


def test_select_into_the_tree_it_looks_at(run):
    text = "SET OutputRoot = InputRoot; SET OutputRoot.XML.m.a[] = SELECT ITEM A || '!' FROM OutputRoot.XML.m.a[] AS A;"
    assert run(text, "<m><a>1</a><a>2</a></m>").xml == "<m><a>1!</a><a>2!</a></m>"
