"""Whatever the text: a program, or an `EsqlProblem` that points into it; never anything else, and soon."""

import re
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.flow.errors import EsqlMistake, EsqlProblem
from heliograph.flow.language.esql.checking.program_checking import check_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_expression, parse_program

WORDS = re.findall(
    r"\S+",
    """
    ALL AS ATOMIC ATTACH BEGIN BETWEEN BROKER CALL CASE CAST COMMIT COMPUTE CONSTANT CREATE DATABASE DECLARE DELETE
    DETACH DO ELSE ELSEIF END EVAL EXCEPTION EXIT EXTERNAL FIELD FILTER FIRSTCHILD FOR FROM FUNCTION HANDLER IF IN
    INSERT INTEGER INTO IS ITEM ITERATE LABEL LANGUAGE LEAVE LIKE LIST LOG LOOP MODULE MOVE NAME NOT NULL OF OR
    PARSE PASSTHRU PATH PROCEDURE PROPAGATE REFERENCE REPEAT RESIGNAL RETURN RETURNS ROLLBACK ROW SCHEMA SELECT SET
    SHARED SQLSTATE SUBSTRING TERMINAL THE THEN THROW TO TRIM TRUE TYPE UNTIL UPDATE USER VALUE VALUES WHEN WHERE
    WHILE Main InputRoot XML a b ( ) [ ] { } , ; : . * / + - || = <> < > <= >= 1 0x03000000 1.5 'text' "name" X'0a'
    B'01' DATE '2004-09-30' -- /* */ /*!{ }!*/ ' " ! ?
    """,
)
SOUP = st.lists(st.sampled_from([*WORDS, "\n", "; \n"]), max_size=60).map(" ".join)
QUICK = settings(max_examples=200, deadline=None)


def _mistakes(text: str) -> list[EsqlMistake]:
    try:
        program = parse_program(text, "any.esql")
    except EsqlProblem as problem:
        return list(problem.mistakes)
    return check_program(program)


def _assert_points_into(text: str, mistake: EsqlMistake) -> None:
    lines = text.split("\n")
    assert 1 <= mistake.line <= len(lines)
    assert mistake.source_line == lines[mistake.line - 1].rstrip("\r")
    assert 1 <= mistake.column <= len(lines[mistake.line - 1]) + 1


@QUICK
@given(SOUP)
def test_any_sequence_of_words_is_read_or_refused(text: str) -> None:
    for mistake in _mistakes(text):
        _assert_points_into(text, mistake)


@QUICK
@given(st.text(max_size=80))
def test_any_characters_are_read_or_refused(text: str) -> None:
    for mistake in _mistakes(text):
        _assert_points_into(text, mistake)


@QUICK
@given(SOUP)
def test_any_words_are_read_as_an_expression_or_refused(text: str) -> None:
    with suppress(EsqlProblem):
        parse_expression(text)


@pytest.mark.parametrize(
    "text",
    [
        "RETURN " + "(" * 2000 + "1" + ")" * 2000 + ";",
        "RETURN " + "NOT " * 2000 + "TRUE;",
        "RETURN " + "- " * 2000 + "1;",
        "SET a = " + "1 + " * 5000 + "1;",
        "SET a" + ".{b" * 2000 + "}" * 2000 + " = 1;",
        "SET a = " + "CASE WHEN TRUE THEN " * 1000 + "1" + " END" * 1000 + ";",
        "BEGIN " * 2000 + "END; " * 2000,
        "IF TRUE THEN " * 2000 + "END IF; " * 2000,
        "DECLARE EXIT HANDLER FOR SQLSTATE '1' " * 2000 + "RETURN;",
        "SET a = " + "(SELECT ITEM " * 2000,
    ],
    ids=["parentheses", "not", "minus", "sums", "names", "cases", "blocks", "ifs", "handlers", "selects"],
)
def test_what_is_nested_too_deep_is_refused_in_words(text: str) -> None:
    with pytest.raises(EsqlProblem, match=r"levels; (use|move)"):
        parse_program(text)


@pytest.mark.parametrize("count", [40, 100])
def test_a_long_concatenation_is_not_too_deep(count: int) -> None:
    parse_expression(" || ".join(["a.b"] * count))


def test_nesting_is_counted_anew_after_a_mistake() -> None:
    text = "SET a = ((((1;\n" * 60 + "SET a = 1;"
    with pytest.raises(EsqlProblem) as problem:
        parse_program(text)
    assert not any("nested" in mistake.text for mistake in problem.value.mistakes)


def test_a_thousand_lines_take_well_under_a_second() -> None:
    lines = "SET OutputRoot.XML.Data.Item[i].(XML.Attribute)Name = UPPER(InputRoot.XML.Data.Item[i].Name) || 'x';\n"
    text = "DECLARE i INTEGER 1;\n" + lines * 1000
    start = time.process_time()
    program = parse_program(text)
    assert check_program(program) == []
    assert time.process_time() - start < 1
