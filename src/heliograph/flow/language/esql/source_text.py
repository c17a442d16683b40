"""An ESQL text with its lines, and what is said about mistakes in it."""

from collections.abc import Collection

from heliograph.common.suggestions import closest_name
from heliograph.flow.errors import EsqlMistake

MOST_MISTAKES = 100
"""A text with more is hardly ESQL."""


class Source:
    """A text and its lines: turns an offset into a place that a person can find."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.lines = text.split("\n")

    def mistake(self, line: int, column: int, text: str, *, warning: bool = False) -> EsqlMistake:
        """Something wrong at this place."""
        source_line = self.lines[line - 1].rstrip("\r") if 1 <= line <= len(self.lines) else ""
        return EsqlMistake(self.file, line, column, text, source_line, warning)


def suggestion(word: str, known: Collection[str]) -> str:
    """`; did you mean X?` if something known looks like the word, else nothing."""
    near = closest_name(word, known, cutoff=0.7)
    return f"; did you mean {near}?" if near else ""
