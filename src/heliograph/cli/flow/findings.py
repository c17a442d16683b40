"""Mistakes and warnings for people: with the line they stand in, and a caret below the place."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from heliograph.flow.definition import Mistake

MISTAKE = "mistake"
WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing that is wrong with a flow, or hardly meant."""

    file: str
    """As seen from where the command is run."""
    line: int
    """From 1; 0 if the file as a whole is meant."""
    column: int
    severity: str
    text: str
    source_line: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        kind = "warning: " if self.severity == WARNING else ""
        told = f"{place}: {kind}{self.text}"
        if not self.source_line.strip():
            return told
        # A tab stays a tab under a tab, so that the caret is where the eye looks for it.
        before = "".join("\t" if character == "\t" else " " for character in self.source_line[: self.column - 1])
        return f"{told}\n  {self.source_line}\n  {before}^"

    def facts(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def finding(folder: Path, mistake: Mistake, severity: str = MISTAKE) -> Finding:
    """A mistake that was found in a flow's folder (or its file)."""
    place = mistake.place
    file = (folder.parent if folder.is_file() else folder) / place.file
    text, _, _ = mistake.text.partition("\n")  # what follows is a picture of the line, which is drawn here
    return Finding(str(file), place.line, place.column, severity, text, _line(file, place.line))


def _line(file: Path, line: int) -> str:
    if not line:
        return ""
    try:
        lines = file.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return ""
    return lines[line - 1].rstrip("\r") if line <= len(lines) else ""


def counted(number: int, what: str) -> str:
    """`1 mistake`, `2 mistakes`, `no mistakes`."""
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"
