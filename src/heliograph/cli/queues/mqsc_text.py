"""MQSC commands as they stand in a text: continued lines joined, comments left out, places remembered."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

CONTINUED = "+-"
_COMMENT = "*"


class MqscMistake(Exception):
    """Something in a command that cannot be: what, and where in the file."""

    def __init__(self, line: int, column: int, text: str) -> None:
        super().__init__(f"{line}:{column}: {text}")
        self.line, self.column, self.text = line, column, text


@dataclass
class CommandText:
    """One command: its text in one piece, and where each part of that stood."""

    text: str = ""
    lines: list[str] = field(default_factory=list)
    """The lines as they were, for showing."""
    unfinished: bool = False
    """Whether the text ended where the command was to go on."""
    _parts: list[tuple[int, int, int]] = field(default_factory=list)
    """Where each line starts in the text, its number, and the column that it starts with; both from 1."""

    def add(self, part: str, line: int, column: int) -> None:
        """Append what stood there."""
        self._parts.append((len(self.text), line, column))
        self.text += part

    def place(self, at: int) -> tuple[int, int]:
        """Line and column, from 1, of a position in the text."""
        start, line, column = next(part for part in reversed(self._parts) if part[0] <= at)
        return line, column + at - start

    def mistake(self, at: int, text: str) -> MqscMistake:
        """A mistake at this position, to be raised."""
        return MqscMistake(*self.place(at), text)


class Assembler:
    """Makes commands of lines, one line at a time; a mistake spoils the command that it is in and no other."""

    def __init__(self) -> None:
        self._open: CommandText | None = None
        self._from_first_column = False
        self._number = 0

    @property
    def waiting(self) -> bool:
        """Whether the last line says that the command goes on."""
        return self._open is not None

    def take(self, line: str) -> CommandText | None:
        """Take the next line; the command that is complete with it, if there is one."""
        self._number += 1
        line = line.rstrip("\r\n")
        content = line.rstrip()
        indent = len(content) - len(content.lstrip())
        if not content or content[indent] == _COMMENT:
            return None
        command = self._open or CommandText()
        command.lines.append(line)
        start = 0 if self._open is not None and self._from_first_column else indent
        goes_on = content[-1] in CONTINUED
        command.add(content[start:-1] if goes_on else content[start:], self._number, start + 1)
        self._from_first_column = content[-1] == "-"
        self._open = command if goes_on else None
        return None if goes_on else command

    def end(self) -> CommandText | None:
        """There are no more lines: the command that was never finished, if there is one."""
        unfinished, self._open = self._open, None
        if unfinished is not None:
            unfinished.unfinished = True
        return unfinished


def commands(lines: Iterable[str]) -> Iterator[CommandText]:
    """All commands of a text; the last one may lack its end."""
    assembler = Assembler()
    for line in lines:
        if (command := assembler.take(line)) is not None:
            yield command
    if (unfinished := assembler.end()) is not None:
        yield unfinished


_BARE = re.compile(r"[A-Za-z0-9._/%*]+")


def quoted(text: str) -> str:
    """A value as MQSC writes it, so that it reads back the same: in quotes unless it is in capitals and plain."""
    if _BARE.fullmatch(text) and text == text.upper():
        return text
    return "'" + (text.replace("'", "''") or " ") + "'"
