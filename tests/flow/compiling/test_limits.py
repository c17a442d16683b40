"""How large things may be, and what is said of those that are larger."""

import pytest

from heliograph.flow.esql.compiled import StatementError


@pytest.mark.parametrize(
    "expression",
    [
        " AND ".join(["Environment.x = 1"] * 140),
        " OR ".join(["Environment.x = 1"] * 140),
        f"COALESCE({', '.join(['Environment.x'] * 400)})",
        " - ".join(["Environment.x"] * 140),
        f"CASE Environment.x {' '.join(f'WHEN {i} THEN {i}' for i in range(500))} END",
    ],
    ids=["and", "or", "coalesce", "minus", "case"],
)
def test_long_expressions_can_be_compiled(value, expression):
    assert value(expression) is None


def test_loops_inside_each_other_deeper_than_can_be_compiled_are_refused_with_the_line(run):
    text = "WHILE TRUE DO\n" * 25 + "SET Environment.x = 1;" + "END WHILE;\n" * 25
    with pytest.raises(Exception, match=r"^test.esql:2\d: .* nested too deep"):
        run(text)


@pytest.mark.parametrize("expression", ["SPACE(1000000000000)", "REPLICATE('ab', 9223372036854775807)"])
def test_a_string_of_absurd_length_is_an_error_of_the_statement(value, expression):
    with pytest.raises(StatementError, match="makes strings of up to 100000000, not of"):
        value(expression)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("-9223372036854775808", -(2**63)),
        ("- 9223372036854775808 + 1", -(2**63) + 1),
        ("CAST('-9223372036854775808' AS INTEGER) = -9223372036854775808", True),
    ],
)
def test_the_smallest_integer_can_be_written_down(value, expression, result):
    found = value(expression)
    assert (type(found), found) == (type(result), result)


@pytest.mark.parametrize(
    ("clauses", "place"),
    [("REPEAT -1", 4), ("REPEAT -2", 2), ("REPEAT -3", 0), ("REPEAT 2", 4), ("FROM 3 REPEAT -1", 2), ("FROM 3", 4)],
)
def test_position_searches_from_the_end_that_it_begins_at(value, clauses, place):
    assert value(f"POSITION('b' IN 'abcb' {clauses})") == place
