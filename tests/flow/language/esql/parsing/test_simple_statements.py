"""Statements without statements inside, and what each of their clauses becomes."""

import pytest

from flow.language.esql.parsing.conftest import statement_of
from heliograph.flow.errors import EsqlProblem
from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.parsing.program_parsing import parse_program

A, B = syntax.FieldReference("a"), syntax.FieldReference("b")
PARSE = syntax.Parse(syntax.FieldReference("b"), (("CCSID", syntax.Literal("INTEGER", 1)),))
ONE, TEXT = syntax.Literal("INTEGER", 1), syntax.Literal("CHARACTER", "x")


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("SET a = 1;", syntax.Set(A, ONE)),
        ("SET a NAME = 'x';", syntax.Set(A, TEXT, "NAME")),
        ("SET a = NULL;", syntax.Set(A, syntax.Literal("NULL", None))),
        ("DELETE FIELD a;", syntax.Delete("FIELD", A)),
        ("DELETE LASTCHILD OF a;", syntax.Delete("LASTCHILD", A)),
        ("ATTACH a TO b AS FIRSTCHILD;", syntax.Attach("a", B, "FIRSTCHILD")),
        ("DETACH a;", syntax.Detach("a")),
        ("EVAL('x');", syntax.Eval(TEXT)),
        ("RESIGNAL;", syntax.Resignal()),
        ("RETURN;", syntax.Return()),
        ("THROW USER EXCEPTION VALUES('x');", syntax.Throw(values=(TEXT,))),
        ("THROW EXCEPTION SEVERITY 1 MESSAGE 1;", syntax.Throw(severity=ONE, message=ONE)),
        ("LOG USER TRACE VALUES(1);", syntax.Log(True, values=(ONE,))),
        ("LOG EVENT FULL EXCEPTION;", syntax.Log(False, exception=True, full=True)),
        ("CREATE FIELD a;", syntax.Create("FIELD", A)),
        ("CREATE LASTCHILD OF a AS b DOMAIN 'x';", syntax.Create("LASTCHILD", A, "b", TEXT)),
        ("CREATE NEXTSIBLING OF a REPEAT;", syntax.Create("NEXTSIBLING", A, repeat=True)),
        ("CREATE LASTCHILD OF a NAME 'x' VALUE 1;", syntax.Create("LASTCHILD", A, name=TEXT, value=ONE)),
        (
            "CREATE LASTCHILD OF a PARSE(b CCSID 1);",
            syntax.Create("LASTCHILD", A, parse=PARSE),
        ),
    ],
)
def test_a_statement_has_its_clauses(text: str, statement: syntax.Statement) -> None:
    assert statement_of(text) == statement


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SET a 1;", "expected ="),
        ("SET = 1;", "a variable or field behind SET"),
        ("DELETE MIDDLE OF a;", "MIDDLE"),
        ("ATTACH a b AS FIRSTCHILD;", "expected TO"),
        ("DETACH;", "a reference"),
        ("THROW;", "EXCEPTION"),
        ("CREATE MIDDLE OF a;", "MIDDLE"),
    ],
)
def test_a_clause_that_is_missing_is_named(text: str, said: str) -> None:
    with pytest.raises(EsqlProblem) as caught:
        parse_program(text)
    assert said in str(caught.value)
