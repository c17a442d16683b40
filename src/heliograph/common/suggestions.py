"""Suggestions for misspelt words."""

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 200
"""Characters of a word that is compared: a comparison takes time, and words can come from clients."""


def closest_name(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the known word that is most similar to this one, ignoring case; empty if none is similar."""
    if len(word) > _LONGEST:
        return ""
    by_folded = {one.casefold(): one for one in known}
    near = get_close_matches(word.casefold(), by_folded, n=1, cutoff=cutoff)
    return by_folded[near[0]] if near else ""
