"""Calls of built-in functions, and literals."""

from decimal import Decimal

import pytest

from heliograph.flow.language.esql.parsing.program_parsing import parse_expression
from heliograph.flow.language.esql.syntax import Call, FieldReference, Literal, Qualifier


@pytest.mark.parametrize("name", ["CURRENT_TIMESTAMP", "current_date", "SQLCODE"])
def test_some_functions_have_no_parentheses(name: str) -> None:
    assert parse_expression(name) == Call(name.upper(), built_in=True)


def test_the_name_of_a_function_may_be_a_field_or_variable() -> None:
    assert parse_expression('"SQLCODE"') == FieldReference("SQLCODE")
    assert isinstance(parse_expression("Date.Time"), FieldReference)
    assert parse_expression("Length") == FieldReference("Length")


def test_a_routine_may_be_called_by_its_schema() -> None:
    assert parse_expression("shop.library.Round(1)") == Call(
        "Round", (Literal("INTEGER", 1),), schema=("shop", "library")
    )


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("42", "INTEGER", 42),
        ("9223372036854775807", "INTEGER", 2**63 - 1),
        ("9223372036854775808", "DECIMAL", Decimal(2**63)),
        ("0x03000000", "INTEGER", 0x03000000),
        ("0XfF", "INTEGER", 255),
        ("0xFFFFFFFFFFFFFFFF", "INTEGER", -1),
        ("0.0", "FLOAT", 0.0),
        ("1.6", "FLOAT", 1.6),
        ("1.", "FLOAT", 1.0),
        (".5", "FLOAT", 0.5),
        ("1e3", "FLOAT", 1000.0),
        ("1.5E-3", "FLOAT", 0.0015),
        ("1e400", "DECIMAL", Decimal("1e400")),
        ("DECIMAL '1.23e+203'", "DECIMAL", Decimal("1.23e203")),
        ("decimal 'INF'", "DECIMAL", Decimal("Infinity")),
        ("'it''s'", "CHARACTER", "it's"),
        ("''", "CHARACTER", ""),
        ("'-- no /* comment'", "CHARACTER", "-- no /* comment"),
        ("X'0A0b'", "BLOB", b"\x0a\x0b"),
        ("x''", "BLOB", b""),
        ("B'0101'", "BIT", "0101"),
        ("DATE '2000-03-29'", "DATE", "2000-03-29"),
        ("TIME '11:49:23.656'", "TIME", "11:49:23.656"),
        ("TIMESTAMP '1999-12-31 23:59:59'", "TIMESTAMP", "1999-12-31 23:59:59"),
        ("GMTTIME '11:49:23'", "GMTTIME", "11:49:23"),
        ("GMTTIMESTAMP '1999-12-31 23:59:59.999999'", "GMTTIMESTAMP", "1999-12-31 23:59:59.999999"),
        ("true", "BOOLEAN", True),
        ("FALSE", "BOOLEAN", False),
        ("Unknown", "NULL", None),
        ("NULL", "NULL", None),
    ],
)
def test_literals(text: str, kind: str, value: object) -> None:
    literal = parse_expression(text)
    assert literal == Literal(kind, value)  # type: ignore[arg-type]
    assert isinstance(literal, Literal)
    assert type(literal.value) is type(value)


@pytest.mark.parametrize(
    ("text", "value", "qualifier"),
    [
        ("INTERVAL '1-06' YEAR TO MONTH", "1-06", Qualifier("YEAR", "MONTH")),
        ("INTERVAL '-90' SECOND", "-90", Qualifier("SECOND")),
        ("INTERVAL '3 12:00:30.5' DAY TO SECOND", "3 12:00:30.5", Qualifier("DAY", "SECOND")),
    ],
)
def test_intervals_have_a_qualifier(text: str, value: str, qualifier: Qualifier) -> None:
    assert parse_expression(text) == Literal("INTERVAL", value, qualifier)
