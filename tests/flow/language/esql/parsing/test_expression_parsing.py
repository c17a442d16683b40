"""How strong operators are, and what stands between them."""

import pytest

from heliograph.flow.errors import EsqlProblem
from heliograph.flow.language.esql.parsing.program_parsing import parse_expression, parse_program


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a OR b AND c", "a OR (b AND c)"),
        ("a AND b = c", "a AND (b = c)"),
        ("a = b + c", "a = (b + c)"),
        ("a || b + c", "(a || b) + c"),
        ("a + b || c", "a + (b || c)"),
        ("a || b * c", "a || (b * c)"),
        ("a - b - c", "(a - b) - c"),
        ("a / b * c", "(a / b) * c"),
        ("a = b = c", "(a = b) = c"),
        ("-a * b", "(-a) * b"),
        ("a * -b", "a * (-b)"),
        ("+a", "a"),
        ("NOT a = b", "(NOT a) = b"),
        ("NOT a AND b", "(NOT a) AND b"),
        ("NOT NOT a", "NOT (NOT a)"),
        ("NOT EXISTS(a.b[])", "NOT (EXISTS(a.b[]))"),
        ("a IS NULL AND b", "(a IS NULL) AND b"),
        ("a + b IS NULL", "(a + b) IS NULL"),
        ("a NOT IN (1, 2) OR b", "(a NOT IN (1, 2)) OR b"),
        ("a BETWEEN b AND c AND d", "(a BETWEEN b AND c) AND d"),
        ("a BETWEEN b + 1 AND c", "a BETWEEN ASYMMETRIC (b + 1) AND c"),
        ("a LIKE b || '%' AND c", "(a LIKE (b || '%')) AND c"),
        ("a IN LIST{1, 2}", "a IN (LIST{1, 2})"),
        ("x IS INFINITY", "x IS INF"),
        ("TRIM(a)", "TRIM(BOTH FROM a)"),
        ("TRIM(b FROM a)", "TRIM(BOTH b FROM a)"),
        ("ASBITSTREAM(a, 546, 1208)", "ASBITSTREAM(a ENCODING 546 CCSID 1208)"),
        ("PASSTHRU('x', 1, 2)", "PASSTHRU('x' VALUES(1, 2))"),
        ("SELECT a.b FROM a.c[] AS a", "(SELECT a.b FROM a.c[] AS a)"),
    ],
)
def test_one_text_means_the_same_as_the_other(text: str, meaning: str) -> None:
    assert parse_expression(text) == parse_expression(meaning)


@pytest.mark.parametrize(
    ("text", "word"),
    [("NOT a = b", "="), ("NOT a IS NULL", "IS"), ("NOT a IN (1)", "IN"), ("NOT a LIKE 'x'", "LIKE")],
)
def test_not_before_a_comparison_is_warned_of(text: str, word: str) -> None:
    (warning,) = parse_program(f"SET x = {text};").warnings
    assert warning.warning
    assert f"NOT is stronger than {word}" in warning.text


@pytest.mark.parametrize("text", ["(NOT a) = b", "NOT (a = b)", "a AND NOT b"])
def test_not_that_is_clear_is_not_warned_of(text: str) -> None:
    assert parse_program(f"SET x = {text};").warnings == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a +", "expected an expression, found the end of the text"),
        ("(a + b", "expected ) for the ( of this line, found the end of the text"),
        ("a b", "expected an operator or the end of the expression, found b"),
        ("f(a, )", "expected an expression, found )"),
        ("a IS 5", "expected NULL, TRUE, .* or NUMBER behind IS, found 5"),
        ("a IS +NULL", "expected INF or INFINITY behind IS, found NULL"),
        ("a BETWEEN 1, 2", "expected AND between the bounds of BETWEEN, found ,"),
        ("CASE END", "expected WHEN in the CASE"),
        ("CASE WHEN a THEN b", "expected END for the CASE of this line"),
        ("CAST(a AS STRING)", "expected a type .* found STRING; did you mean CHARACTER?"),
        ("CAST(a AS INTEGR)", "did you mean INTEGER?"),
        ("CAST(a AS ROW)", "CAST cannot make a ROW"),
        ("CAST(a AS CHARACTER CSSID 1208)", "expected ) at the end of CAST(..., found CSSID; did you mean CCSID?"),
        ("CAST(a AS CHARACTER CCSID 1 CCSID 2)", "CAST has CCSID twice"),
        ("SUBSTRING(a, 1)", "SUBSTRING has no commas: SUBSTRING(text FROM start FOR length)"),
        ("TRIM(LEADING a)", "expected FROM in TRIM(LEADING ..., found )"),
        ("EXTRACT(YEARS FROM a)", "found YEARS; did you mean YEAR?"),
        ("ROUND(a, 2 MODE HALF_UP)", "did you mean ROUND_HALF_UP?"),
        ("POSITION(a, b)", "expected IN behind what POSITION looks for, found ,"),
        ("(a + b) DAY", "only a difference in parentheses"),
        ("(SELECT a.b FROM a ORDER BY b)", "SELECT has no ORDER; use PASSTHRU"),
        ("(SELECT DISTINCT a.b FROM a.c[] AS a)", "SELECT has no DISTINCT"),
        ("(SELECT SUM(a.b) AS c FROM a)", "SUM(...) stands alone in a SELECT"),
        ("(SELECT a.b)", "expected FROM behind the items of SELECT, found )"),
    ],
)
def test_wrong_expressions(text: str, message: str) -> None:
    parts = message.split(".* ")
    with pytest.raises(EsqlProblem) as problem:
        parse_expression(text)
    assert all(part in str(problem.value) for part in parts)
