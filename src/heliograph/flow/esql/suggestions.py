"""Guessing what was meant."""

from collections.abc import Collection
from difflib import get_close_matches


def suggestion(word: str, known: Collection[str]) -> str:
    """`; did you mean X?` if something known looks like the word, else nothing."""
    by_upper = {name.upper(): name for name in known}
    near = get_close_matches(word.upper(), by_upper, n=1, cutoff=0.7)
    return f"; did you mean {by_upper[near[0]]}?" if near else ""
