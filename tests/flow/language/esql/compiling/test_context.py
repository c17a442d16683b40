"""The generator's state: what is written where, and what is forgotten again."""

import pytest

from heliograph.flow.errors import CompilationError
from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.compiling.context import Code, Context, Environment, Frame, Shape, Unit
from heliograph.flow.language.esql.compiling.python_names import Names, Scope
from heliograph.flow.language.values.types import Type

LITERAL = syntax.Literal("INTEGER", 1, at=syntax.Position(2, 5))


@pytest.fixture
def context() -> Context:
    environment = Environment("COMPUTE", "Test", "test.esql", {}, ["SET a = 1;", "SET b = 2; SET c = 3;"])
    return Context(
        Unit("test.esql"), environment, Frame(Names()), Scope(), {syntax.Literal: lambda _, node: Code(f"{node.value}")}
    )


def test_lines_stand_in_the_block_that_they_are_written_in(context: Context) -> None:
    context.emit("if a:")
    with context.indented():
        context.emit("b = 1")
    context.emit("c = 2")
    assert context.unit.body == ["    if a:", "        b = 1", "    c = 2"]


def test_an_empty_block_passes(context: Context) -> None:
    context.emit("if a:")
    with context.indented():
        context.emit("# nothing but a remark")
    assert context.unit.body[-1] == "        pass"


def test_what_was_written_since_a_checkpoint_is_forgotten(context: Context) -> None:
    context.emit("a = 1")
    checkpoint = context.checkpoint()
    first = context.temporary("value")
    context.emit("b = 2")
    context.go_back(checkpoint)
    assert context.unit.body == ["    a = 1"]
    assert context.temporary("value") == first


def test_a_place_names_the_statement_and_its_line(context: Context) -> None:
    context.place(syntax.Statement(at=syntax.Position(2, 12)))
    (place,) = context.unit.places
    assert (place.python_line, place.file, place.line, place.statement) == (1, "test.esql", 2, "SET c = 3")


def test_lines_that_are_inserted_move_the_places_behind_them() -> None:
    unit = Unit("test.esql")
    environment = Environment("COMPUTE", "Test", "test.esql", {}, ["SET a = 1;"])
    context = Context(unit, environment, Frame(Names()), Scope(), {})
    context.place(syntax.Statement(at=syntax.Position(1, 1)))
    unit.insert(0, ["def f():", "    pass"])
    assert [place.python_line for place in unit.places] == [3]


def test_what_is_made_once_has_one_name() -> None:
    unit = Unit("test.esql")
    assert unit.constant("Decimal('1')") == unit.constant("Decimal('1')")
    assert unit.constant("Decimal('1')") != unit.constant("Decimal('2')")


@pytest.mark.parametrize(("text", "is_name"), [("a", True), ("own.a", True), ("5", True), ("f(a)", False), ("", False)])
def test_a_name_costs_nothing_to_evaluate_twice(text: str, is_name: bool) -> None:
    assert Code(text).is_name is is_name


def test_a_list_is_no_single_value(context: Context) -> None:
    context._generators = {syntax.Literal: lambda *_: Code("items", Type.INTEGER, True, Shape.ROWS)}
    with pytest.raises(CompilationError, match=r"test\.esql:2:5: a list stands where a single value is needed"):
        context.value(LITERAL)


def test_syntax_that_nobody_writes_is_refused_with_its_place(context: Context) -> None:
    with pytest.raises(CompilationError, match=r"test\.esql:0:0: Row cannot stand here"):
        context.any(syntax.Row(()))
    assert context.any(LITERAL).text == "1"
