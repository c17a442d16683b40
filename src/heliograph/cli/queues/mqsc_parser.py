"""MQSC commands from text: lines are joined, comments left out, commands parsed, and positions kept for errors."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from heliograph.cli.errors import MqscSyntaxError

CONTINUED = "+-"
_COMMENT = "*"


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

    def mistake(self, at: int, text: str) -> MqscSyntaxError:
        """A mistake at this position, to be raised."""
        return MqscSyntaxError(*self.place(at), text)


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


_TOKEN = re.compile(r"\s+|(?P<text>'(?:[^']|'')*')|(?P<mark>[(),;])|(?P<word>[^\s(),;']+)|(?P<open>')")


@dataclass(frozen=True, slots=True)
class Word:
    """A word or a text in quotes, and where it starts in the command."""

    text: str
    at: int
    quoted: bool = False
    written: str = ""
    """How a word was written before it was folded to capitals, if that made a difference."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A keyword with what is in its brackets; None when it has none."""

    keyword: str
    at: int
    values: tuple[Word, ...] | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """One command: `verb`, then `target` with the name in its brackets, then `clauses`."""

    verb: str
    target: Clause | None
    clauses: tuple[Clause, ...]
    source: CommandText

    @property
    def end(self) -> int:
        """Where something missing would have stood."""
        return len(self.source.text.rstrip())


def parse(source: CommandText) -> Command:
    """A command of this text; MqscSyntaxError where it breaks the grammar."""
    if source.unfinished:
        raise source.mistake(len(source.text), "expected another line after this one, found the end")
    reader = _Reader(source)
    verb = reader.clause()
    if verb is None:
        raise source.mistake(0, "expected a command, found none")
    if verb.values is not None:
        raise source.mistake(verb.at, f"expected a command, found {verb.keyword}(...)")
    target = reader.clause()
    clauses = []
    while (clause := reader.clause()) is not None:
        clauses.append(clause)
    return Command(verb.keyword, target, tuple(clauses), source)


class _Reader:
    """The tokens of a command, read once from front to back."""

    def __init__(self, source: CommandText) -> None:
        self._source = source
        self._tokens = _tokens(source)
        self._next = 0

    def clause(self) -> Clause | None:
        """The next keyword with its values; None at the end of the command."""
        while self._peek() == ",":
            self._next += 1
        if self._peek() is None:
            return None
        keyword = self._word("a keyword")
        values = self._values() if self._peek() == "(" else None
        return Clause(keyword.text.upper(), keyword.at, values)

    def _values(self) -> tuple[Word, ...]:
        opening = self._tokens[self._next].at
        self._next += 1
        values: list[Word] = []
        while self._peek() != ")":
            if self._peek() is None:
                raise self._source.mistake(opening, "expected a closing bracket for this one, found none")
            if self._peek() == ",":
                self._next += 1
            else:
                word = self._word("a value")
                values.append(word if word.quoted else _folded(word))
        if not values:
            raise self._source.mistake(opening, "expected a value in the brackets, found none")
        self._next += 1
        return tuple(values)

    def _peek(self) -> str | None:
        """The next mark, "" for a word, None at the end."""
        if self._next == len(self._tokens):
            return None
        token = self._tokens[self._next]
        return token.text if isinstance(token, _Mark) else ""

    def _word(self, expected: str) -> Word:
        token = self._tokens[self._next]
        if isinstance(token, _Mark):
            raise self._source.mistake(token.at, f"expected {expected}, found {token.text}")
        self._next += 1
        return token


def _folded(word: Word) -> Word:
    capitals = word.text.upper()
    return Word(capitals, word.at, written="" if word.text == capitals else word.text)


@dataclass(frozen=True, slots=True)
class _Mark:
    text: str
    at: int


def _tokens(source: CommandText) -> list[Word | _Mark]:
    found: list[Word | _Mark] = []
    for match in _TOKEN.finditer(source.text):
        at = match.start()
        if match["open"]:
            raise source.mistake(at, "expected a closing quote for this one, found none")
        if match["mark"] == ";":  # may end a command; nothing may follow
            if source.text[match.end() :].strip():
                raise source.mistake(match.end(), "expected the end of the line after ;, found more")
        elif match["mark"]:
            found.append(_Mark(match["mark"], at))
        elif match["text"]:
            found.append(Word(match["text"][1:-1].replace("''", "'").rstrip(), at, quoted=True))
        elif match["word"]:
            found.append(Word(match["word"], at))
    return found


def single(command: Command, clause: Clause) -> Word:
    """The one value of a clause that has to have just one."""
    if clause.values is None:
        raise command.source.mistake(clause.at + len(clause.keyword), f"expected {clause.keyword}(value), found none")
    if len(clause.values) > 1:
        extra = clause.values[1]
        raise command.source.mistake(extra.at, f"expected one value for {clause.keyword}, found {extra.text} as well")
    return clause.values[0]
