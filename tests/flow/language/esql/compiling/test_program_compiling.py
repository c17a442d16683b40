"""Whole programs, their pickles, and single expressions."""

import pickle
from datetime import datetime

import pytest

from flow.language.esql.conftest import XML
from heliograph.errors import Problem
from heliograph.flow.formats import Catalogue
from heliograph.flow.language.esql.compiling.program_compiling import compile_filter_expression, compile_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_program
from heliograph.flow.language.esql.runtime.evaluation import Evaluation
from heliograph.flow.tree import Element


@pytest.mark.parametrize("kind", ["FILTER", "DATABASE"])
def test_other_nodes_have_names_of_their_own(run, kind):
    text = f"""CREATE {kind} MODULE M CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
        SET Environment.x = Root.XML.a || Body.a || FIELDNAME(LocalEnvironment) || FIELDNAME(ExceptionList);
        SET LocalEnvironment.Variables.y = 1;
        RETURN Body.a = '1'; END; END MODULE;"""
    done = run(text, "<a>1</a>")
    assert done.result is True
    assert done.value("x") == "11LocalEnvironmentExceptionList"


def test_a_compiled_program_pickles_as_its_text():
    compiled = compile_program(parse_program("SET Environment.x = 1;", "p.esql"))
    again = pickle.loads(pickle.dumps(compiled))
    assert again.source == compiled.source
    evaluation = Evaluation(Element("Root"), catalogue=Catalogue(), now=None)  # type: ignore[arg-type]
    module_again = pickle.loads(pickle.dumps(compiled.modules[""]))
    assert module_again.run(evaluation) is True
    assert evaluation.environment.first("x").value == 1  # type: ignore[union-attr]


def test_generated_python_says_which_statement_each_line_is_of():
    source = compile_program(parse_program("\nSET Environment.x = 1;", "p.esql")).source
    assert "# 2: SET Environment.x = 1" in source


def evaluation(xml: str) -> Evaluation:
    root = Element("Root")
    root.append(Catalogue().part_of("XML", xml.encode()))
    return Evaluation(root, catalogue=Catalogue(), now=datetime(2004, 9, 30))


@pytest.mark.parametrize(
    ("text", "expected"), [("Body.m.n > 2", True), ("Root.XML.m.n = '4'", False), ("Body.m.none = 1", None)]
)
def test_filter_expression(text, expected):
    compiled = pickle.loads(pickle.dumps(compile_filter_expression(text)))
    assert compiled(evaluation(XML)) is expected


def test_a_filter_expression_that_is_no_truth_value_is_refused():
    with pytest.raises(Problem, match="truth"):
        compile_filter_expression("Body.m.a || '3'")(evaluation(XML))


def test_an_expression_for_a_trace_gives_elements_and_values():
    assert compile_filter_expression("Body.m.n").evaluate(evaluation(XML)).name == "n"
    assert compile_filter_expression("1 + 1").evaluate(evaluation(XML)) == 2
