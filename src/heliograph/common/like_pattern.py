"""LIKE, of selectors and of ESQL: patterns with `%` for any characters and `_` for one, matched in linear time.

Between two `%` there is a piece of fixed length. Taking its first match is enough: if the rest of the pattern does not
match behind the first one, it does not match behind a later one. So there is no backtracking.

Short texts are matched by a regular expression. That compares a piece again at every character, which takes minutes for
long texts and long pieces. There, a piece without `_` is searched with `str.find`. For a piece with `_`, all positions
are compared at once: the positions of a character in the text are the bits of an integer, and the matches of the piece
are a few shifts and ANDs of such integers.
"""

import re
from collections.abc import Callable, Iterator

_QUICK = 50_000
"""How many comparisons of characters a regular expression may take."""


def like_matcher(pattern: str, escape: str = "") -> Callable[[str], bool]:
    """Return a function that says whether a text matches the pattern.

    `%` and `_` stand for themselves behind the escape character; at the end of the pattern, that stands for itself too.
    """
    first, *others = _pieces(pattern, escape)
    *middle, last = others or [first]
    middle = [piece for piece in middle if piece.length]
    if others:
        found = "".join(f"(?>.*?{piece.expression})" for piece in middle)
        end = f"(?<={last.expression})" if last.length else ""
        whole = re.compile(f"{first.expression}{found}.{{{last.length},}}+{end}", re.DOTALL).fullmatch
    else:
        whole = re.compile(first.expression, re.DOTALL).fullmatch
    if not middle:
        return lambda text: whole(text) is not None
    short = _QUICK // max(piece.length for piece in middle)
    starts = re.compile(first.expression, re.DOTALL).match
    ends = re.compile(last.expression, re.DOTALL).match

    def matches(text: str) -> bool:
        if len(text) <= short:
            return whole(text) is not None
        at, end = first.length, len(text) - last.length
        if end < at or starts(text) is None or ends(text, end) is None:
            return False
        places = _Places(text)
        for piece in middle:
            at = piece.behind(places, at, end)
            if at < 0:
                return False
        return True

    return matches


class _Piece:
    """Characters in order; None stands for any."""

    def __init__(self, characters: list[str | None]) -> None:
        self.length = len(characters)
        fixed = [at for at, character in enumerate(characters) if character is not None]
        self._before = fixed[0] if fixed else self.length
        """How many `_` it begins with."""
        core = characters[self._before : fixed[-1] + 1] if fixed else []
        self._characters = [(at, character) for at, character in enumerate(core) if character is not None]
        self._literal = "".join(character for character in core if character is not None) if None not in core else None
        """What is between the `_` at both ends; None if there are others inside."""
        self.expression = "".join("." if character is None else re.escape(character) for character in characters)
        """As a regular expression."""

    def behind(self, places: "_Places", start: int, end: int) -> int:
        """Return the offset behind the first match of these pieces between two offsets; -1 if there is none."""
        at = start + self._before
        if self._literal is None:
            at = places.first(self._characters, at)
        elif self._literal:
            at = places.text.find(self._literal, at)
        at = at - self._before + self.length if at >= 0 else -1
        return at if at <= end else -1


class _Places:
    """A text with the positions of each of its characters as bits of an integer: the first character is the highest
    bit."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._planes: tuple[bytes, ...] = ()
        """The bytes of all characters, the low ones first."""
        self._known: dict[tuple[int, int], int] = {}

    def first(self, characters: list[tuple[int, str]], start: int) -> int:
        """The first place, from `start` on, that has these characters at these distances; -1 if there is none."""
        length = len(self.text)
        if start >= length:
            return -1
        found = (1 << (length - start)) - 1
        for distance, character in characters:
            found &= self._of(character) << distance
            if not found:
                return -1
        return length - found.bit_length()

    def _of(self, character: str) -> int:
        if not self._planes:
            if self.text.isascii():
                self._planes = (self.text.encode("ascii"),)
            else:
                wide = self.text.encode("utf-32-le", "surrogatepass")
                self._planes = (wide[::4], wide[1::4], wide[2::4])
        number = ord(character)
        if number >> 8 * len(self._planes):
            return 0
        found = self._with_byte(0, number & 0xFF)
        for plane in range(1, len(self._planes)):
            found &= self._with_byte(plane, number >> 8 * plane & 0xFF)
        return found

    def _with_byte(self, plane: int, byte: int) -> int:
        """The places of characters that have this byte."""
        known = self._known.get((plane, byte))
        if known is None:
            digits = bytearray(b"0" * 256)
            digits[byte] = ord("1")
            known = self._known[plane, byte] = int(self._planes[plane].translate(digits), 2)
        return known


def _pieces(pattern: str, escape: str) -> Iterator[_Piece]:
    """What stands before, between and behind the `%`."""
    piece: list[str | None] = []
    characters = iter(pattern)
    for character in characters:
        if escape and character == escape:
            piece.append(next(characters, escape))
        elif character == "%":
            yield _Piece(piece)
            piece = []
        else:
            piece.append(None if character == "_" else character)
    yield _Piece(piece)
