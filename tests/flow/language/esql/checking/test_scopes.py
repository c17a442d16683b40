"""Names at a place: the innermost declaration counts, and case does not."""

import pytest

from heliograph.flow.language.esql.checking.scopes import Library, Scope, Variable, variables_of
from heliograph.flow.language.esql.parsing.program_parsing import parse_program
from heliograph.flow.language.esql.syntax import NOWHERE


def _variable(name: str, kind: str = "INTEGER") -> Variable:
    return Variable(name, kind, NOWHERE)


def test_the_innermost_variable_is_meant() -> None:
    outer = Scope()
    outer.declare(_variable("a", "INTEGER"))
    inner = outer.inside()
    inner.declare(_variable("A", "CHARACTER"))
    assert [scope.variable("a").kind for scope in (outer, inner)] == ["INTEGER", "CHARACTER"]  # type: ignore[union-attr]


def test_a_scope_sees_what_is_around_it_and_not_what_is_inside() -> None:
    outer = Scope()
    inner = outer.inside()
    inner.declare(_variable("inner"))
    outer.declare(_variable("outer"))
    assert inner.variable("OUTER") is not None
    assert outer.variable("inner") is None
    assert list(inner.names()) == ["inner", "outer"]


def test_a_second_declaration_gives_the_first() -> None:
    scope = Scope()
    first = _variable("a")
    assert scope.declare(first) is None
    assert scope.declare(_variable("A")) is first


@pytest.mark.parametrize(
    ("declaration", "constant"),
    [
        ("DECLARE a INTEGER;", False),
        ("DECLARE a CONSTANT INTEGER 1;", True),
        ("DECLARE a EXTERNAL CHARACTER 'x';", True),
        ("DECLARE a NAMESPACE 'urn:a';", True),
    ],
)
def test_constants_are_what_cannot_be_set(declaration: str, constant: bool) -> None:
    (found,) = parse_program(declaration).declarations
    assert [(one.name, one.constant) for one in variables_of(found)] == [("a", constant)]


def _library() -> Library:
    own = parse_program("BROKER SCHEMA here PATH there; CREATE PROCEDURE mine() RETURN;")
    there = parse_program("BROKER SCHEMA there DECLARE limit CONSTANT INTEGER 5; CREATE PROCEDURE p() RETURN;")
    elsewhere = parse_program("BROKER SCHEMA elsewhere DECLARE far CONSTANT INTEGER 5; CREATE PROCEDURE q() RETURN;")
    return Library(own, [there, elsewhere])


def test_names_of_a_schema_on_the_path_are_known_without_it() -> None:
    library = _library()
    assert library.variable("LIMIT") is not None
    assert library.variable("far") is None
    assert library.routine_on_path("P") is not None
    assert library.routine_on_path("q") is None
    assert sorted(library.routine_names()) == ["mine", "p"]


def test_a_routine_of_any_schema_is_known_by_its_full_name() -> None:
    assert _library().routine(("Elsewhere",), "Q") is not None
    assert _library().routine(("there",), "q") is None
