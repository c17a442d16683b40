"""The text of copybooks as sentences."""

import pytest

from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.copybook.sentences import sentences


def words(text: str) -> list[list[str]]:
    return [[token.text for token in sentence.tokens] for sentence in sentences(text, "c.cpy")]


def fixed(*lines: str) -> str:
    """Lines with numbers in columns 1 to 6; each begins with what is in column 7."""
    return "\n".join(f"{number:06}{line}" for number, line in enumerate(lines, 1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (fixed(" 01 A.", " 05 B PIC X(3)."), [["01", "A"], ["05", "B", "PIC", "X(3)"]]),
        (fixed(" 01", " A", "   ."), [["01", "A"]]),
        (fixed("* 01 NO.", " 01 A. *> why", "/ new page", "D05 DEBUG."), [["01", "A"]]),
        (fixed(" 01 A PIC 9,", " VALUE 1.", " EJECT"), [["01", "A", "PIC", "9", "VALUE", "1"]]),
        (fixed(" 05 LONG-", "-    NAME PIC X."), [["05", "LONG-NAME", "PIC", "X"]]),
        (fixed(" 88 YES VALUE 'it''s'."), [["88", "YES", "VALUE", "'it''s'"]]),
        (fixed(" 05 A PIC 9.99."), [["05", "A", "PIC", "9.99"]]),
        ("01 A.\n* a comment\n   05 B PIC X. *> end", [["01", "A"], ["05", "B", "PIC", "X"]]),
    ],
)
def test_a_sentence_goes_to_its_full_stop(text: str, expected: list[list[str]]) -> None:
    assert words(text) == expected


def test_columns_behind_72_are_no_code() -> None:
    assert words(" " * 7 + "01 A.".ljust(65) + "IGNORED.") == [["01", "A"]]


def test_a_literal_goes_on_behind_the_quote_of_the_next_line() -> None:
    first = " 05 A VALUE 'ab"
    (sentence,) = words(fixed(first, "-  'cd'."))
    assert sentence[-1] == "'" + "ab".ljust(65 - len(first) + 3) + "cd'"


def test_tokens_know_their_lines_and_compare_in_capitals() -> None:
    (sentence,) = sentences(fixed("", " 01 rec.", ""), "c.cpy")
    assert str(sentence.place).startswith("c.cpy:2")
    assert [token.word for token in sentence.tokens] == ["01", "REC"]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (fixed(" 01 A"), 1, "expected a full stop behind A"),
        (fixed(" 01 A VALUE 'x."), 1, "expected the end of a literal"),
        (fixed("-01 A."), 1, "expected a line before the one that continues it"),
        (fixed(" 01 A.", "?01 B."), 2, "column 7"),
        (fixed(" 01 A", *["-" + "B" * 65] * 40), 1, "at most 2000 characters"),
    ],
)
def test_what_is_no_sentence_is_refused_with_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(ModelProblem, match=rf"^c\.cpy:{line}.*{said}"):
        words(text)
