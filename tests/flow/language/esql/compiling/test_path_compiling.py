"""Paths in Python: how often a program walks along them, and what it finds."""

import pytest

from flow.language.esql.conftest import XML, module
from heliograph.flow.language.esql.compiling.program_compiling import compile_filter_expression, compile_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_program


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("InputBody.m.n", "3"),
        ("InputBody.*.n", "3"),
        ("InputBody.m.a[2]", "y"),
        ("InputBody.m.a[<]", "z"),
        ("InputBody.m.a[<2]", "y"),
        ("InputBody.m.*[>]", "3"),
        ("InputBody.m.*:n", "3"),
        ("InputBody.m.l.i[2].(XML.Attribute)k", "2"),
        ("InputBody.m.{'n'}", "3"),
        ("InputBody.m.absent.n", None),
        ("InputBody.m.a[9]", None),
        ("InputRoot.XML.m.n", "3"),
    ],
)
def test_a_path_is_read(value, path, found):
    assert value(path, XML) == found


def test_a_path_with_an_index_that_is_no_number_is_an_error(run):
    with pytest.raises(Exception, match="an index is an INTEGER"):
        run(module("SET Environment.a = InputBody.m.a[b];", declarations="DECLARE b CHARACTER 'x';"), XML)


def test_fields_next_to_each_other_share_the_way_to_them():
    text = module(
        "SET Environment.a = InputBody.m.l.i.k;",
        "SET Environment.b = InputBody.m.l.i.v;",
    )
    source = compile_program(parse_program(text, "test.esql")).source
    assert source.count("'m', 'l'") + source.count('"m", "l"') <= 1


def test_a_missing_field_on_the_way_is_made_once(run):
    body = "SET OutputRoot.XML.r.s.a = 1; SET OutputRoot.XML.r.s.b = 2;"
    assert run(module(body)).xml == "<r><s><a>1</a><b>2</b></s></r>"


def test_a_list_of_fields_is_in_document_order(value):
    assert value("CARDINALITY(InputBody.m.a[])", XML) == 3


def test_a_path_alone_gives_its_element(run):
    evaluation = run("SET Environment.a = 1;", XML, kind="FILTER").evaluation
    found = compile_filter_expression("Body.m.n").evaluate(evaluation)
    assert (found.name, found.value) == ("n", "3")
