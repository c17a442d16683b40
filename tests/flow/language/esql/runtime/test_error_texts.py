"""What an error says of the statement that failed: its file, line, routine, text, and why."""

import pytest

from heliograph.flow.errors import StatementError


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SET Environment.a = 1;\nSET Environment.b = 1 / 0;", "2: in Main: SET Environment.b = 1 / 0: divide by zero"),
        (
            "SET Environment.a = -- it's; a note\n  1 / 0 || 'a;b';",
            "1: in Main: SET Environment.a = 1 / 0 || 'a;b': div",
        ),
        (
            "SET OutputRoot.XML.o.a = 1;\nSET OutputRoot.XML.o.b = 2;\nSET OutputRoot.XML.o.c = 1 / 0;",
            "3: in Main: SET OutputRoot.XML.o.c = 1 / 0: divide",
        ),
        (
            "IF 1 = 2 THEN\n  LOG EVENT;\nELSEIF 'a' = 5 THEN LOG EVENT;\nEND IF;",
            "3: in Main: ELSEIF 'a' = 5 THEN LOG EVENT: 'a' is not an INTEGER",
        ),
        (
            "CASE 5\nWHEN 1 THEN LOG EVENT;\nWHEN 'a' THEN LOG EVENT;\nEND CASE;",
            "3: in Main: WHEN 'a' THEN LOG EVENT: 'a' is not an INTEGER",
        ),
        ("REPEAT\n  LOG EVENT;\nUNTIL 1 > 'a'\nEND REPEAT;", "1: in Main: REPEAT LOG EVENT: 'a' is not an INTEGER"),
        ("SET Environment.a = '5' + 1;", "CHARACTER and INTEGER; CAST CHARACTER to a number"),
        ("SET Environment.a = 'a' || 1;", "CHARACTER and INTEGER; CAST the other to CHARACTER"),
    ],
    ids=["line", "semicolons", "neighbours", "elseif", "when", "until", "sum", "join"],
)
def test_an_error_says_which_statement_failed_and_why(run, text, said):
    with pytest.raises(StatementError) as caught:
        run(text)

    assert str(caught.value).startswith("test.esql:")
    assert said in str(caught.value)
