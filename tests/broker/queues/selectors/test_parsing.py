"""What is wrong with a selector is said with its place; what is right becomes a tree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.broker.errors import SelectorError
from heliograph.broker.queues.selectors import expressions as e
from heliograph.broker.queues.selectors.parsing import DEEPEST, MOST_OPERANDS, parse
from heliograph.broker.queues.selectors.tokens import LONGEST


def problem(text):
    with pytest.raises(SelectorError) as caught:
        parse(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "character 1: expected a name, a value or (, found the end"),
        ("a =", "character 4: expected a name, a value or (, found the end"),
        ("a = 1 b", "character 7: expected an operator or the end, found b"),
        ("a = 'x", "character 5: expected a closing ', found the end"),
        ("a = 1 AND # 2", "character 11: expected a name, a value or an operator, found '#'"),
        ("(a = 1", "character 7: expected an operator or ), found the end"),
        ("a IS 1", "character 6: expected NULL or NOT NULL, found 1"),
        ("a NOT 1", "character 7: expected LIKE, IN or BETWEEN, found 1"),
        ("a LIKE 1", "character 8: expected a pattern in quotes, found 1"),
        ("a LIKE 'x' ESCAPE 'yz'", "character 19: expected a single character, found 'yz'"),
        ("a LIKE 'x!' ESCAPE '!'", "character 8: expected a character after each !, found 'x!'"),
        ("a IN 'x'", "character 6: expected a list in parentheses, found 'x'"),
        ("a IN (1)", "character 7: expected a string, found 1"),
        ("a BETWEEN 1 OR 2", "character 13: expected AND between the bounds, found OR"),
        ("a < 'x'", "character 3: expected = or <> for strings and booleans, found <"),
        ("a >= TRUE", "character 3: expected = or <> for strings and booleans, found >="),
        ("'x'", "character 1: expected a condition, found a string"),
        ("a = 1 AND 2", "character 11: expected a condition, found a number"),
        ("a + 1", "character 1: expected a condition, found a number"),
        ("(a = 1) = TRUE", "character 1: expected a name or a value, found a condition"),
        ("a + TRUE = 1", "character 5: expected a number, found a boolean"),
        ("1 IS NULL", "character 1: expected the name of a property, found something else"),
        ("a = 9223372036854775808", "character 5: expected a number of at most 64 bits"),
        ("a = 99999999999999999999999", "character 5: expected a number of at most 64 bits"),
        ("a = 1e999", "character 5: expected a number of at most 1.8e308"),
        ("a = 08", "character 5: expected an octal number, as it begins with 0, found 08"),
        ('"" = 1', "character 1: expected a name between the double quotes, found nothing"),
    ],
)
def test_a_mistake_is_named_with_its_place(text, expected):
    assert expected in problem(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 4000 + "a" + ")" * 4000,
        "NOT " * 2400 + "a",
        "a = " + "-(" * 3000 + "b",
        "a = 1" + " + 1" * 2000,
        "a = " + "- " * 4000 + "b",
    ],
)
def test_depth_has_a_limit(text):
    assert "at most 50 levels" in problem(text)


def test_length_has_a_limit():
    assert "at most 10000 characters, found 10001" in problem("a" * 10_001)


A, B, C = (e.Identifier(name) for name in "abc")
ONE, TWO = e.Literal(1), e.Literal(2)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", A),
        ("TRUE", e.Literal(True)),
        ("NULL", e.Literal(None)),
        ("a = 1", e.Comparison("=", A, ONE, 1)),
        ("a <> 'it''s'", e.Comparison("<>", A, e.Literal("it's"), 1)),
        ("a IS NULL", e.IsNull(A)),
        ("a IS NOT NULL", e.Not(e.IsNull(A), 1)),
        ("a LIKE 'x%' ESCAPE '!'", e.Like(A, "x%", "!")),
        ("a NOT LIKE 'x'", e.Not(e.Like(A, "x", ""), 1)),
        ("a IN ('x', 'y')", e.Among(A, ("x", "y"))),
        ("a > -1", e.Comparison(">", A, e.Literal(-1), 1)),
        ("a > - b", e.Comparison(">", A, e.Negative(B, 1), 2)),
        ("a > +1", e.Comparison(">", A, ONE, 1)),
        ("a > +b", e.Comparison(">", A, e.Arithmetic("+", e.Literal(0), B, 1), 2)),
        (
            "a BETWEEN 1 AND 2",
            e.All((e.Comparison(">=", A, ONE, 1), e.Comparison("<=", A, TWO, 1)), 2),
        ),
        ("a OR b AND NOT c", e.Any((A, e.All((B, e.Not(C, 1)), 2)), 3)),
        ("(a OR b) AND c", e.All((e.Any((A, B), 1), C), 2)),
        ("a = 1 + 2 * b", e.Comparison("=", A, e.Arithmetic("+", ONE, e.Arithmetic("*", TWO, B, 1), 2), 3)),
        ("a = 1 - 2 - b", e.Comparison("=", A, e.Arithmetic("-", e.Arithmetic("-", ONE, TWO, 1), B, 2), 3)),
    ],
)
def test_a_selector_is_a_tree(text, tree):
    assert parse(text) == tree


def test_of_chains_all_parts_are_on_one_level():
    chain = parse(" OR ".join(["a"] * 500))
    assert isinstance(chain, e.Any)
    assert (len(chain.operands), chain.depth) == (500, 1)


def test_parentheses_up_to_the_limit():
    assert parse("(" * DEEPEST + "a" + ")" * DEEPEST) == A
    assert "at most 50 levels" in problem("(" * (DEEPEST + 1) + "a" + ")" * (DEEPEST + 1))


def test_names_and_values_are_counted():
    most = " OR ".join(["a=b"] * (MOST_OPERANDS // 2))
    assert parse(most)
    assert f"at most {MOST_OPERANDS} names and values" in problem(f"{most} OR a")
    assert "10 for each LIKE" in problem(" OR ".join(["a LIKE 'x'"] * (MOST_OPERANDS // 11 + 1)))
    assert parse("a IN (" + ",".join(["'x'"] * (MOST_OPERANDS + 1)) + ")")  # looked up at once


@given(st.text("aA1.'\"()=<>+-*/, NOTLIKE%!", max_size=40))
def test_whatever_is_written_there_is_a_tree_or_a_mistake_with_its_place(text):
    assert len(text) <= LONGEST
    try:
        parse(text)
    except SelectorError as caught:
        error = caught
    else:
        return
    assert str(error).startswith("selector, character ")
