"""The `?` of ESQL's SQL, as drivers want it."""

import re
from functools import lru_cache

# What may hide a question mark or a percent sign that is none: strings, names, comments.
_PIECES = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ | \$(\w*)\$.*?\$\1\$ | \? """, re.VERBOSE | re.DOTALL
)


@lru_cache(4096)
def to_format(sql: str) -> str:
    """With `%s` for each parameter, for drivers that format."""
    found: list[str] = []
    at = 0
    for piece in _PIECES.finditer(sql):
        found.append(sql[at : piece.start()].replace("%", "%%"))
        text = piece.group()
        found.append("%s" if text == "?" else text.replace("%", "%%"))
        at = piece.end()
    found.append(sql[at:].replace("%", "%%"))
    return "".join(found)


@lru_cache(4096)
def count(sql: str) -> int:
    """How many parameters it has."""
    return sum(piece.group() == "?" for piece in _PIECES.finditer(sql))
