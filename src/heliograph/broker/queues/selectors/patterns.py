"""Patterns of LIKE become regular expressions that never go back on a decision."""

import re
from collections.abc import Callable


def matcher(pattern: str, escape: str) -> Callable[[str], object]:
    """A function that returns something true for strings that have this form.

    Between two `%` stands a piece of fixed length, and it is enough to look for it where it comes first: if the rest
    cannot be found after that place, it cannot be found after a later one. So each piece is an atomic group, the last
    one is looked for at the very end, and a string is never gone through more than once for a piece.
    """
    pieces = _pieces(pattern, escape)
    if len(pieces) == 1:
        return re.compile(_expression(pieces[0]), re.DOTALL).fullmatch
    first, *middle, last = pieces
    found = [_expression(first), *[f"(?>.*?{_expression(piece)})" for piece in middle if piece]]
    end = f"(?<={_expression(last)})" if last else ""
    return re.compile(f"{''.join(found)}.{{{len(last)},}}+{end}", re.DOTALL).fullmatch


_Piece = list[str | None]
"""Characters in order; None stands for any."""


def _pieces(pattern: str, escape: str) -> list[_Piece]:
    pieces: list[_Piece] = [[]]
    characters = iter(pattern)
    for character in characters:
        if escape and character == escape:
            pieces[-1].append(next(characters))
        elif character == "%":
            pieces.append([])
        else:
            pieces[-1].append(None if character == "_" else character)
    return pieces


def _expression(piece: _Piece) -> str:
    return "".join(["." if character is None else re.escape(character) for character in piece])
