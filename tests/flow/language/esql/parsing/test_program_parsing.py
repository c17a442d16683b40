"""Modules, routines, and statements without them."""

import pytest

from heliograph.flow.language.esql.parsing.program_parsing import parse_program
from heliograph.flow.language.esql.syntax import (
    Block,
    DataType,
    Declaration,
    FieldReference,
    Literal,
    Module,
    Parameter,
    Return,
    Routine,
    Set,
    Statement,
)

TRUE = Literal("BOOLEAN", True)


def _main(text: str, kind: str = "COMPUTE") -> tuple[Statement, ...]:
    (module,) = parse_program(text, kind=kind).modules
    assert module.name == ""
    assert module.kind == kind
    body = module.routines[-1].body
    assert isinstance(body, Block)
    return body.body


def test_bare_statements_are_the_main_of_a_module_that_returns_true() -> None:
    assert _main("SET a = TRUE;") == (Set(FieldReference("a"), TRUE), Return(TRUE))


def test_bare_statements_that_return_do_not_return_twice() -> None:
    assert _main("RETURN FALSE;") == (Return(Literal("BOOLEAN", False)),)


def test_bare_statements_of_a_filter_return_what_they_say() -> None:
    assert _main("SET a = TRUE;", "FILTER") == (Set(FieldReference("a"), TRUE),)


def test_bare_statements_may_have_routines_beside_them() -> None:
    (module,) = parse_program("CREATE PROCEDURE p() RETURN;\nCALL p();").modules
    assert [routine.name for routine in module.routines] == ["p", "Main"]


def test_declarations_alone_belong_to_the_schema() -> None:
    program = parse_program("DECLARE a INTEGER; DECLARE b EXTERNAL CHARACTER 'x';")
    assert program.modules == ()
    assert program.declarations == (
        Declaration(("a",), DataType("INTEGER")),
        Declaration(("b",), DataType("CHARACTER"), Literal("CHARACTER", "x"), external=True),
    )


@pytest.mark.parametrize("text", ["", "  -- nothing\n", "BROKER SCHEMA a"])
def test_a_text_may_say_nothing(text: str) -> None:
    assert parse_program(text).modules == ()


@pytest.mark.parametrize("end", ["", ";"])
def test_a_program_has_a_schema_and_a_path(end: str) -> None:
    program = parse_program(f"BROKER SCHEMA a.b{end} PATH c.d, e{end} DECLARE x INTEGER;")
    assert (program.schema, program.path) == (("a", "b"), (("c", "d"), ("e",)))
    assert len(program.declarations) == 1


@pytest.mark.parametrize("kind", ["COMPUTE", "DATABASE", "FILTER", "DATABASEEVENT"])
def test_modules_of_every_kind(kind: str) -> None:
    program = parse_program(f"create {kind.lower()} module M declare a shared row; end module;")
    assert program.modules == (Module(kind, "M", (Declaration(("a",), DataType("ROW"), shared=True),)),)


def test_a_routine_has_parameters_in_three_directions() -> None:
    (routine,) = parse_program(
        "CREATE FUNCTION f(a INT, IN b REFERENCE TO, OUT c CHAR, INOUT d ROW, IN n NAMESPACE, IN in CONSTANT DATE)"
        " RETURNS DECIMAL NOT NULL RETURN NULL;"
    ).routines
    assert routine == Routine(
        "FUNCTION",
        "f",
        (
            Parameter("a", DataType("INTEGER")),
            Parameter("b", DataType("REFERENCE")),
            Parameter("c", DataType("CHARACTER"), "OUT"),
            Parameter("d", DataType("ROW"), "INOUT"),
            Parameter("n", DataType("NAMESPACE")),
            Parameter("in", DataType("DATE"), constant=True),
        ),
        DataType("DECIMAL"),
        not_null=True,
        body=Return(Literal("NULL", None)),
    )


@pytest.mark.parametrize("language", ["DATABASE", "JAVA", ".NET", "CLR"])
def test_a_routine_may_be_external(language: str) -> None:
    text = f'CREATE PROCEDURE p() LANGUAGE {language} DYNAMIC RESULT SETS 2 EXTERNAL NAME "A.B";'
    (routine,) = parse_program(text).routines
    assert (routine.language, routine.external_name, routine.result_sets) == (language, "A.B", 2)


def test_the_end_of_the_last_module_needs_no_semicolon() -> None:
    assert parse_program("CREATE FILTER MODULE M END MODULE").modules[0].name == "M"


def test_an_initial_value_may_stand_on_the_next_line() -> None:
    (declaration, *_) = _main("DECLARE a INTEGER\nCASE WHEN TRUE THEN 1 END;\nSET b = 1;")
    assert isinstance(declaration, Declaration)
    assert declaration.initial is not None


def test_the_end_of_a_line_does_not_matter() -> None:
    assert parse_program("SET a\r\n=\r\n1;\r\n") == parse_program("SET a = 1;")
