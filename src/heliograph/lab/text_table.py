"""Tables of benchmarks as text and as Markdown, and numbers as they stand in them."""

from collections.abc import Sequence
from dataclasses import dataclass


def figure(number: float | None) -> str:
    """Three digits that matter, none after the point from 100 on; a dash where nothing was measured."""
    if number is None:
        return "-"
    return f"{number:.0f}" if abs(number) >= 100 else f"{number:.3g}"


def rounded(value: float) -> str:
    """The same with commas between thousands, for sentences."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def times(number: float | None) -> str:
    """A ratio; nothing where there is none."""
    return "" if number is None else f"{figure(number)}x"


def noise(cores: float) -> str:
    """A remark when other processes used so many cores that a result is doubtful; empty if they did not."""
    return f"noisy: others used {cores:.1f} cores" if cores > NOISY else ""


NOISY = 0.2
"""Cores used by other processes, from which on a row says so."""


@dataclass(frozen=True)
class TextTable:
    """The columns of a table: titles and widths. The first `texts` columns and the last one are words."""

    columns: tuple[tuple[str, int], ...]
    texts: int = 1

    def header(self) -> str:
        """The titles as a line of text."""
        return self.line([title for title, _ in self.columns])

    def line(self, cells: Sequence[str]) -> str:
        """A row as a line of text."""
        padded = [
            cell.ljust(width) if self._is_text(at) else cell.rjust(width)
            for at, (cell, (_, width)) in enumerate(zip(cells, self.columns, strict=True))
        ]
        return "  ".join(padded).rstrip()

    def markdown(self, rows: Sequence[Sequence[str]]) -> str:
        """All of these rows as a Markdown table."""
        rules = ["---" if self._is_text(at) else "---:" for at in range(len(self.columns))]
        table = [[title for title, _ in self.columns], rules, *rows]
        return "\n".join("| " + " | ".join(cells) + " |" for cells in table)

    def _is_text(self, at: int) -> bool:
        return at < self.texts or at == len(self.columns) - 1


def goals_text(missed: Sequence[str]) -> str:
    """The end of a report: the goals that were missed, or that there are none."""
    return "\n".join(["\nMissed goals:", *(f"- {text}" for text in missed)]) if missed else "\nAll goals are met."
