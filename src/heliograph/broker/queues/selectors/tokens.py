"""The words of a selector."""

import re
from typing import NamedTuple

from heliograph.broker.errors import SelectorError

KEYWORDS = frozenset({"AND", "OR", "NOT", "IS", "NULL", "LIKE", "ESCAPE", "BETWEEN", "IN", "TRUE", "FALSE"})
LONGEST = 10_000
"""Characters in a selector at most."""
_LARGEST = 2**63
"""The largest exact number there is, with a minus before it."""


class Token(NamedTuple):
    """One word: what it is, what it stands for, and where it was found."""

    kind: str
    """`string`, `number`, `name`, `end`, or the keyword or sign itself."""
    value: str | int | float
    at: int
    text: str


# Every alternative is decided by its first characters, so nothing is ever tried twice.
_WORD = re.compile(
    r"""\s*(?:
        (?P<float> (?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]? | [0-9]+[eE][+-]?[0-9]+[fFdD]? )
      | (?P<exact> (?:0[xX][0-9a-fA-F]+|[0-9]+)[lL]? )
      | (?P<word> [^\W\d][\w$]*(?:\.[^\W\d][\w$]*)* | \$[\w$]*(?:\.[^\W\d][\w$]*)* )
      | (?P<string> '[^']*(?:''[^']*)*' )
      | (?P<quoted> "[^"]*(?:""[^"]*)*" )
      | (?P<sign> <>|>=|<=|[=<>+\-*/(),] )
    )""",
    re.VERBOSE,
)


def error_at(at: int, expected: str, found: str) -> SelectorError:
    """What went wrong, for people: positions count from 1."""
    return SelectorError(f"selector, character {at + 1}: expected {expected}, found {found}")


def tokens(text: str) -> list[Token]:
    """All words of a selector, and an `end` after them."""
    if len(text) > LONGEST:
        raise SelectorError(f"selector: expected at most {LONGEST} characters, found {len(text)}")
    found: list[Token] = []
    at, stop = 0, len(text.rstrip())
    while at < stop:
        match = _WORD.match(text, at)
        if match is None:
            raise _no_word(text, at)
        kind = match.lastgroup
        assert kind is not None
        found.append(_token(kind, match[kind], match.start(kind)))
        at = match.end()
    found.append(Token("end", "", len(text), "the end"))
    return found


def _token(kind: str, text: str, at: int) -> Token:
    if kind == "word":
        upper = text.upper()
        return Token(upper if upper in KEYWORDS else "name", text, at, text)
    if kind == "sign":
        return Token(text, text, at, text)
    if kind == "string":
        return Token("string", text[1:-1].replace("''", "'"), at, text)
    if kind == "quoted":
        if len(text) == 2:
            raise error_at(at, "a name between the double quotes", "nothing")
        return Token("name", text[1:-1].replace('""', '"'), at, text)
    return Token("number", _exact(text, at) if kind == "exact" else _float(text, at), at, text)


def _exact(text: str, at: int) -> int:
    digits = text.rstrip("lL")
    if digits[:2] in {"0x", "0X"}:
        number = int(digits, 16)
    elif len(digits) > 1 and digits[0] == "0":
        if "8" in digits or "9" in digits:
            raise error_at(at, "an octal number, as it begins with 0", text)
        number = int(digits, 8)
    else:
        # Turning a long run of digits into a number takes a time that grows with its square.
        number = int(digits) if len(digits) < 20 else _LARGEST + 1
    if number > _LARGEST:
        raise error_at(at, "a number of at most 64 bits", text)
    return number


def _float(text: str, at: int) -> float:
    number = float(text.rstrip("fFdD"))
    if number == float("inf"):
        raise error_at(at, "a number of at most 1.8e308", text)
    return number


def _no_word(text: str, at: int) -> SelectorError:
    while text[at].isspace():
        at += 1
    if text[at] in "'\"":
        return error_at(at, f"a closing {text[at]}", "the end")
    return error_at(at, "a name, a value or an operator", repr(text[at]))
