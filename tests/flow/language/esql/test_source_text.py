"""Places of a text, and what may have been meant."""

import pytest

from heliograph.flow.language.esql.source_text import Source, suggestion


def test_a_mistake_has_its_place_and_the_line_without_its_end() -> None:
    mistake = Source("SET a = 1;\r\nSET b = ;\r\n", "test.esql").mistake(2, 9, "a value is missing")
    assert (mistake.file, mistake.line, mistake.column) == ("test.esql", 2, 9)
    assert mistake.source_line == "SET b = ;"
    assert not mistake.warning


@pytest.mark.parametrize("line", [0, 3, 100])
def test_a_mistake_behind_the_text_has_no_line(line: int) -> None:
    assert Source("one\ntwo", "").mistake(line, 1, "something is missing").source_line == ""


def test_a_warning_says_that_it_is_one() -> None:
    assert "warning: hardly meant" in str(Source("x", "f").mistake(1, 1, "hardly meant", warning=True))


@pytest.mark.parametrize(("word", "said"), [("InputRot", "; did you mean InputRoot?"), ("Environment", ""), ("", "")])
def test_only_a_word_that_looks_alike_is_suggested(word: str, said: str) -> None:
    assert suggestion(word, ["InputRoot", "OutputLocal"]) == said
