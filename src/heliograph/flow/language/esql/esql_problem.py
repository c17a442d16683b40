"""What is wrong with an ESQL text, for the person who wrote it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from heliograph.common.suggestions import closest
from heliograph.errors import Problem

MOST_MISTAKES = 100
"""A text with more is hardly ESQL."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong, or (a warning) hardly meant."""

    file: str
    line: int
    """From 1."""
    column: int
    """From 1."""
    text: str
    source_line: str
    warning: bool = False

    def __str__(self) -> str:
        # A tab stays a tab under a tab, so that the caret is where the eye looks for it.
        line, column = _around(self.source_line, self.column)
        before = "".join("\t" if character == "\t" else " " for character in line[: column - 1])
        kind = "warning: " if self.warning else ""
        return f"{self.file or 'ESQL'}:{self.line}:{self.column}: {kind}{self.text}\n  {line}\n  {before}^"


_LONGEST = 160
_GAP = "... "


def _around(line: str, column: int) -> tuple[str, int]:
    """As much of a line as fits on a screen, and the column in that."""
    if len(line) <= _LONGEST:
        return line, column
    start = max(0, min(column - _LONGEST // 2, len(line) - _LONGEST))
    shown = line[start : start + _LONGEST]
    if start + _LONGEST < len(line):
        shown = f"{shown} ..."
    return (_GAP + shown, column - start + len(_GAP)) if start else (shown, column)


class EsqlProblem(Problem):
    """An ESQL text that cannot be used, with everything that was found in it."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = tuple(sorted(mistakes, key=lambda mistake: (mistake.file, mistake.line, mistake.column)))
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))

    def __reduce__(self) -> tuple[type["EsqlProblem"], tuple[tuple[Mistake, ...]]]:
        return type(self), (self.mistakes,)


class Source:
    """A text and its lines: turns an offset into a place that a person can find."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.lines = text.split("\n")

    def mistake(self, line: int, column: int, text: str, *, warning: bool = False) -> Mistake:
        """Something wrong at this place."""
        source_line = self.lines[line - 1].rstrip("\r") if 1 <= line <= len(self.lines) else ""
        return Mistake(self.file, line, column, text, source_line, warning)


# Guessing what was meant.


def suggestion(word: str, known: Collection[str]) -> str:
    """`; did you mean X?` if something known looks like the word, else nothing."""
    near = closest(word, known, cutoff=0.7)
    return f"; did you mean {near}?" if near else ""
