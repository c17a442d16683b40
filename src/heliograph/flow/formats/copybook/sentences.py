"""The text of a copybook as sentences: a level, a name and clauses, up to a full stop.

Columns 1 to 6 and those behind 72 are for sequence numbers and are ignored; column 7 marks comments and continuation.
If the first item begins before column 8, the text is in free form: all columns are code, and a comment begins with `*`.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from heliograph.common.documents import Place
from heliograph.flow.errors import ModelProblem

FIRST_COLUMN, LAST_COLUMN = 7, 72
FREE = re.compile(r" {0,6}[0-9]{1,2} +[A-Za-z:]").match
LISTING = {"EJECT", "SKIP1", "SKIP2", "SKIP3"}
"""Words for the layout of listings, alone in their lines."""
LONGEST_LINE = 2000
INDICATOR = 6
TOKEN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[XxNnGgZz]['\"][^'\"]*['\"]|[^\s'\"]+|['\"]")


class Token(NamedTuple):
    """A word, a literal or a picture."""

    text: str
    place: Place

    @property
    def word(self) -> str:
        """In capital letters, as words compare."""
        return self.text.upper()


class Sentence(NamedTuple):
    """What stands before a full stop."""

    tokens: list[Token]

    @property
    def place(self) -> Place:
        """Where it begins."""
        return self.tokens[0].place


def sentences(text: str, file: str) -> Iterator[Sentence]:
    """The sentences of a copybook."""
    tokens: list[Token] = []
    for place, line in _lines(text, file):
        for found in TOKEN.finditer(line):
            word = found[0]
            if word in "'\"":
                raise ModelProblem(place, "expected the end of a literal before the end of the line")
            if word[0] in "'\"":
                tokens.append(Token(word, place))
                continue
            ends = word.endswith(".")
            word = word.removesuffix(".").rstrip(",;")
            if word:
                tokens.append(Token(word, place))
            if ends and tokens:
                yield Sentence(tokens)
                tokens = []
    if tokens:
        raise ModelProblem(
            tokens[-1].place, f"expected a full stop behind {tokens[-1].text}, found the end of the file"
        )


def _lines(text: str, file: str) -> Iterator[tuple[Place, str]]:
    """Lines of code, with continuations joined."""
    held: tuple[Place, str] | None = None
    lines = [raw.expandtabs() for raw in text.splitlines()]
    if _is_free(lines):
        for number, line in enumerate(lines, 1):
            code = line.partition("*>")[0]
            if code.strip() and code.lstrip()[0] != "*":
                yield Place(file, number), code
        return
    for number, line in enumerate(lines, 1):
        indicator, code = line[INDICATOR : INDICATOR + 1], line[FIRST_COLUMN:LAST_COLUMN]
        if indicator in ("*", "/", "D", "d"):
            continue
        if "*>" in code:
            code = code[: code.index("*>")]
        if not code.strip() or code.strip(" .").upper() in LISTING:
            continue
        place = Place(file, number)
        if indicator == "-":
            if held is None:
                raise ModelProblem(place, "expected a line before the one that continues it")
            held = held[0], _continued(held[1], code)
            if len(held[1]) > LONGEST_LINE:
                raise ModelProblem(
                    held[0], f"expected at most {LONGEST_LINE} characters in a line and its continuation"
                )
            continue
        if indicator not in ("", " "):
            raise ModelProblem(place, f"column 7: expected a blank, *, / or -, found {indicator}")
        if held is not None:
            yield held
        held = place, code
    if held is not None:
        yield held


def _is_free(lines: list[str]) -> bool:
    """Whether the first line that is no comment has its level where fixed form has sequence numbers and marks."""
    for line in lines:
        if line.strip() and line.lstrip()[0] != "*" and line[INDICATOR : INDICATOR + 1] not in ("*", "/"):
            return FREE(line) is not None
    return False


def _continued(line: str, more: str) -> str:
    """A literal goes on behind the quote that the next line begins with; a word goes on as it is."""
    more = more.strip()
    quotes = [found[0] for found in TOKEN.finditer(line)]
    if quotes and quotes[-1][0] in "'\"" and len(quotes[-1]) == 1:
        return line.ljust(LAST_COLUMN - FIRST_COLUMN) + more[1:]
    open_quote = re.search(r"(['\"])(?:(?!\1).)*$", re.sub(r"'[^']*'|\"[^\"]*\"", "", line))
    if open_quote is not None:
        return line.ljust(LAST_COLUMN - FIRST_COLUMN) + more[1:]
    return line.rstrip() + more
