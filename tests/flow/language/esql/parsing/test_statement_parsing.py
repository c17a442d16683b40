"""Statements that hold statements, and going on behind a mistake."""

import pytest

from flow.language.esql.parsing.conftest import statement_of
from heliograph.flow.errors import EsqlProblem
from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.parsing.program_parsing import parse_program

A = syntax.FieldReference("a")
TRUE = syntax.Literal("BOOLEAN", True)
SET = syntax.Set(A, syntax.Literal("INTEGER", 1))


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("BEGIN SET a = 1; END;", syntax.Block((SET,))),
        ("x: BEGIN ATOMIC SET a = 1; END x;", syntax.Block((SET,), True, "x")),
        ("IF TRUE THEN SET a = 1; END IF;", syntax.If((syntax.Branch(TRUE, (SET,)),))),
        ("IF TRUE THEN ELSE SET a = 1; END IF;", syntax.If((syntax.Branch(TRUE, ()),), (SET,))),
        (
            "IF TRUE THEN ELSEIF a THEN SET a = 1; END IF;",
            syntax.If((syntax.Branch(TRUE, ()), syntax.Branch(A, (SET,)))),
        ),
        ("CASE WHEN TRUE THEN SET a = 1; END CASE;", syntax.CaseStatement(None, (syntax.Branch(TRUE, (SET,)),))),
        ("WHILE TRUE DO SET a = 1; END WHILE;", syntax.While(TRUE, (SET,))),
        ("x: WHILE TRUE DO SET a = 1; END WHILE x;", syntax.While(TRUE, (SET,), "x")),
        ("REPEAT SET a = 1; UNTIL TRUE END REPEAT;", syntax.Repeat((SET,), TRUE)),
        ("LOOP SET a = 1; END LOOP;", syntax.Loop((SET,))),
    ],
)
def test_a_statement_holds_its_statements(text: str, statement: syntax.Statement) -> None:
    assert statement_of(text) == statement


@pytest.mark.parametrize("text", ["LEAVE x;", "ITERATE x;"])
def test_a_jump_names_its_label(text: str) -> None:
    found = statement_of(f"x: WHILE TRUE DO {text} END WHILE x;")
    assert isinstance(found, syntax.While)
    (jump,) = found.body
    assert jump in (syntax.Leave("x"), syntax.Iterate("x"))


@pytest.mark.parametrize(
    "text",
    [
        "IF TRUE THEN SET a = ; END IF; SET b 2;",
        "WHILE TRUE DO SET = 1; END WHILE; SET b 2;",
        "BEGIN SET a ; SET b 2; END;",
    ],
)
def test_after_a_mistake_the_next_statement_is_read(text: str) -> None:
    with pytest.raises(EsqlProblem) as caught:
        parse_program(text)
    assert len(caught.value.mistakes) == 2


@pytest.mark.parametrize("text", ["BEGIN SET a = 1;", "IF TRUE THEN SET a = 1;", "WHILE TRUE DO SET a = 1;"])
def test_what_is_not_closed_is_one_mistake(text: str) -> None:
    with pytest.raises(EsqlProblem) as caught:
        parse_program(text)
    (mistake,) = caught.value.mistakes
    assert "END" in mistake.text
