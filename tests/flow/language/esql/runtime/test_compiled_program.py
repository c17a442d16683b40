"""From a line of Python to the statement that it was made of."""

import pickle
from types import TracebackType

import pytest

from flow.language.esql.conftest import module
from heliograph.errors import Problem
from heliograph.flow.errors import DownstreamFailure, StatementError
from heliograph.flow.language.esql.compiling.program_compiling import compile_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_program
from heliograph.flow.language.esql.runtime.compiled_program import Place, Places

PLACES = Places("<esql test>", [Place(3, "test.esql", 1, "Main", "SET a"), Place(7, "test.esql", 2, "Main", "SET b")])


def _traceback(line: int, name: str = "<esql test>") -> TracebackType | None:
    """The traceback of a failure in this line of a file."""
    code = compile("\n" * (line - 1) + "raise problem", name, "exec")
    try:
        exec(code, {"problem": Problem("wrong")})
    except Problem as error:
        return error.__traceback__
    return None


@pytest.mark.parametrize(("line", "statement"), [(1, None), (3, "SET a"), (6, "SET a"), (7, "SET b"), (100, "SET b")])
def test_a_line_belongs_to_the_statement_that_begins_at_or_before_it(line: int, statement: str | None) -> None:
    place = PLACES.of(_traceback(line))
    assert (place.statement if place is not None else None) == statement


def test_a_failure_elsewhere_is_no_failure_of_the_program() -> None:
    assert PLACES.of(_traceback(3, "other.py")) is None
    assert PLACES.explain(Problem("wrong")) is None


@pytest.mark.parametrize(
    "error", [DownstreamFailure("behind", 1, None), StatementError("f", 1, "r", "SET", Problem("x")), ValueError()]
)
def test_what_is_explained_already_or_is_a_defect_is_not_explained(error: Exception) -> None:
    assert PLACES.explain(error) is None


def test_a_module_says_which_statement_failed(run):
    with pytest.raises(StatementError) as caught:
        run(module("SET Environment.a = 1;", "SET Environment.b = 1 / 0;"))
    assert caught.value.statement == "SET Environment.b = 1 / 0"
    assert caught.value.reason is caught.value.__cause__


def test_a_module_is_pickled_with_its_program() -> None:
    compiled = compile_program(parse_program(module("SET Environment.a = 1;"), "test.esql"))
    again = pickle.loads(pickle.dumps(compiled.modules["Test"]))
    assert (again.name, again.kind) == ("Test", "COMPUTE")
