"""Field references."""

import pytest

from heliograph.flow.errors import EsqlProblem
from heliograph.flow.language.esql.parsing.program_parsing import parse_expression
from heliograph.flow.language.esql.syntax import (
    Every,
    FieldConstant,
    FieldReference,
    FromEnd,
    FromStart,
    Literal,
    PathStep,
    Wildcard,
)

ONE, TWO = Literal("INTEGER", 1), Literal("INTEGER", 2)
ATTRIBUTE = FieldConstant("XML", "Attribute", 0x03000000)
X = FieldReference("x")


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("Name", PathStep("Name")),
        ('"two words"', PathStep("two words")),
        ("*", PathStep(Wildcard.ANY)),
        ("{x}", PathStep(X)),
        ("ns:Name", PathStep("Name", "ns")),
        (":Name", PathStep("Name", "")),
        ("*:Name", PathStep("Name", Wildcard.ANY)),
        ("*:*", PathStep(Wildcard.ANY, Wildcard.ANY)),
        ("{x}:{x}", PathStep(X, X)),
        ("(XML.Attribute)Name", PathStep("Name", type=ATTRIBUTE)),
        ("(XML.Attribute)ns:Name[1]", PathStep("Name", "ns", ATTRIBUTE, ONE)),
        ("(XML.Attribute)", PathStep(type=ATTRIBUTE)),
        ("(XML.attr){x}", PathStep(X, type=FieldConstant("XML", "attr", 0x03000000))),
        ("(XMLNSC.Attribute)a", PathStep("a", type=FieldConstant("XMLNSC", "Attribute", 0x03000100))),
        ("(NameValue)*[]", PathStep(Wildcard.ANY, None, FieldConstant("", "NameValue", 0x03000000), Every.ONE)),
        ("(0x03000000){x}[1]", PathStep(X, None, Literal("INTEGER", 0x03000000), ONE)),
        ("(x)Name", PathStep("Name", type=X)),
        ("Name[x]", PathStep("Name", index=X)),
        ("Name[<]", PathStep("Name", index=FromEnd())),
        ("Name[<2]", PathStep("Name", index=FromEnd(TWO))),
        ("Name[LAST]", PathStep("Name", index=FromEnd())),
        ("Name[last]", PathStep("Name", index=FromEnd())),
        ("Name[>]", PathStep("Name", index=FromStart())),
        ("Name[>2]", PathStep("Name", index=FromStart(TWO))),
        ("Name[]", PathStep("Name", index=Every.ONE)),
        ("[1]", PathStep(index=ONE)),
        ("[<]", PathStep(index=FromEnd())),
        ("[]", PathStep(index=Every.ONE)),
    ],
)
def test_each_form_of_a_step(text: str, step: PathStep) -> None:
    assert parse_expression(f"R.{text}") == FieldReference("R", (step,))
    assert parse_expression(f"R.A.{text}.B") == FieldReference("R", (PathStep("A"), step, PathStep("B")))


def test_a_correlation_name_may_have_an_index() -> None:
    assert parse_expression("R[2].A") == FieldReference("R", (PathStep("A"),), TWO)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("R.", "expected the name of a field, {expression}, * or [index], found the end of the text"),
        ("R..A", "expected the name of a field"),
        ("R.ns:", "expected the name of a field behind the namespace"),
        ("R.{x", "expected } behind the expression for a name"),
        ("R.A[1", "expected ] behind an index"),
        ("R.A['1']", "an index is a whole number"),
        ("R.(XML.Atribute)A", "XML has no field type Atribute; did you mean ATTRIBUTE?"),
        ("R.(XML.ParserRoot)A", "XML has no field type ParserRoot"),
        ("R.(XML.Attribute A", "expected ) behind the type of a field"),
    ],
)
def test_wrong_paths(text: str, message: str) -> None:
    with pytest.raises(EsqlProblem) as problem:
        parse_expression(text)
    assert message in str(problem.value)
