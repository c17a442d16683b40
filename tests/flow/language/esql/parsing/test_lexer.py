"""Words, literals and comments."""

import pytest

from heliograph.flow.errors import EsqlProblem
from heliograph.flow.language.esql.parsing.program_parsing import parse_expression, parse_program
from heliograph.flow.language.esql.syntax import Binary, FieldReference, Literal, Set


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0x1FFFFFFFFFFFFFFFF", "does not fit an INTEGER"),
        ("DECIMAL 'twelve'", "'twelve' is not a DECIMAL"),
        ("1" * 40, "more than the 34 digits"),
        ("DATE '30.9.2004'", "'30.9.2004' is not a DATE; it is written like '2004-09-30'"),
        ("DATE '2004-02-30'", "'2004-02-30' is not a DATE: day is out of range"),
        ("TIME '25:00:00'", "'25:00:00' is not a TIME: hour must be in"),
        ("INTERVAL '5' YEAR TO MONTH", "'5' is not an INTERVAL"),
        ("DECIMAL '1e9999999999999999999'", "is too large for a DECIMAL"),
        ("INTERVAL '5' MONTH TO YEAR", "there is no interval of MONTH TO YEAR"),
        ("INTERVAL '5' MONTH TO DAY", "there is no interval of MONTH TO DAY"),
        ("X'0A0'", "an even number of hexadecimal digits"),
        ("B'012'", "holds 0 and 1 only"),
        ("1abc", "1abc is neither a number nor a name"),
        ("'open", "this string has no end"),
        ('"open', "this name has no end"),
        ("a /* open", "this comment has no end"),
        ("a }!*/", "none has begun"),
        ("a != b", "ESQL writes <> for not equal"),
        ("a == b", "ESQL writes = once, for setting and for comparing"),
        ("a ? b", "'?' has no meaning here"),
    ],
)
def test_wrong_literals_and_characters(text: str, message: str) -> None:
    with pytest.raises(EsqlProblem, match="(?s)" + message.replace("?", r"\?")):
        parse_expression(text)


@pytest.mark.parametrize(
    "text",
    ["1 -- one", "/* one */ 1", "/* a /* nested */ comment */ 1", "1--2", "/*!{ 1 }!*/", "/* /*!{ 2 }!*/ */ 1", "1;"],
)
def test_comments_are_skipped_but_for_executable_ones(text: str) -> None:
    assert parse_expression(text) == Literal("INTEGER", 1)


def test_nearly_every_keyword_may_be_a_name() -> None:
    body = parse_program('SET set = If + SELECT.end * "FROM";').modules[0].routines[0].body
    assert body.body[0] == Set(  # type: ignore[union-attr]
        FieldReference("set"),
        Binary(
            "+",
            FieldReference("If"),
            Binary("*", parse_expression('SELECT."end"'), FieldReference("FROM")),
        ),
    )


def test_a_reserved_word_needs_quotes() -> None:
    with pytest.raises(EsqlProblem, match='found item, which is reserved: write "item" in double quotes'):
        parse_program("SET item = 1;")


def test_a_reserved_word_may_be_a_field() -> None:
    assert parse_expression("I.Item[].From") == parse_expression('I."Item"[]."From"')


def test_positions_count_lines_and_columns_from_1() -> None:
    expression = parse_expression("a\n  + /* \n */ b.c")
    assert isinstance(expression, Binary)
    assert (expression.left.at, expression.at, expression.right.at) == ((1, 1), (2, 3), (3, 5))
