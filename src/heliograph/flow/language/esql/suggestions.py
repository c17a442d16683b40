"""Guessing what was meant."""

from collections.abc import Collection

from heliograph.common.suggestions import closest


def suggestion(word: str, known: Collection[str]) -> str:
    """`; did you mean X?` if something known looks like the word, else nothing."""
    near = closest(word, known, cutoff=0.7)
    return f"; did you mean {near}?" if near else ""
