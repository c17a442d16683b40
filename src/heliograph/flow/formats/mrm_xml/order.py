"""Which elements may follow each other inside an element: each is one character, and what may be is a pattern of them.

A message chooses how many elements there are, so the pattern must not try again and again: in it the next element alone
tells which way to go, as XML Schema demands of its groups. Groups of a model file need not be so clear. So what the
pattern refuses is gone through once more, with all ways at the same time.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

MOST = 1 << 31
"""Repetitions that a pattern can count; no message has as many."""


@dataclass(frozen=True)
class Particle:
    """An element by its character; or others in a sequence, or one of them."""

    code: str = ""
    inside: "tuple[Particle, ...]" = ()
    choice: bool = False
    least: int = 1
    most: int | None = 1

    @cached_property
    def first(self) -> str:
        """The characters that it can begin with."""
        found = dict.fromkeys(self.code)
        for one in self.inside:
            found |= dict.fromkeys(one.first)
            if not (self.choice or one.optional):
                break
        return "".join(found)

    @cached_property
    def optional(self) -> bool:
        """Whether it can be nothing at all."""
        return not self.least or self._empty

    @cached_property
    def _empty(self) -> bool:
        """Whether it can be there, with nothing in it."""
        return not self.code and (any if self.choice else all)(one.optional for one in self.inside)

    def pattern(self) -> str:
        """A regular expression that never goes back."""
        if self.most == 0 or not self.first:
            return ""
        once = self._once()
        if (self.least, self.most) == (1, 1):
            return once
        least = 0 if self._empty else min(self.least, MOST)
        most = "" if self.most is None or self.most > MOST else self.most
        if not self.code:
            once = f"(?:(?=[{self.first}]){once})"
        return f"(?>{once}{{{least},{most}}})"

    def _once(self) -> str:
        if self.code:
            return self.code
        if not self.choice:
            return "".join(one.pattern() for one in self.inside)
        if all(one.code and (one.least, one.most) == (1, 1) for one in self.inside):
            return f"[{self.first}]"
        branches = [f"(?=[{one.first}]){one.pattern()}" for one in self.inside if one.first]
        return f"(?>{'|'.join(branches)}{'|' if self._empty else ''})"

    def ends(self, text: str, starts: set[int]) -> set[int]:
        """Where it can end in the text, if it can begin at any of these places."""
        least = 0 if self._empty else self.least
        found = set(starts) if least == 0 else set()
        here, count = starts, 0
        while here and (self.most is None or count < self.most):
            here, count = self._ends_once(text, here), count + 1
            if count >= least:
                here = here - found
                found |= here
        return found

    def _ends_once(self, text: str, starts: set[int]) -> set[int]:
        if self.code:
            return {start + 1 for start in starts if text.startswith(self.code, start)}
        if self.choice:
            return set().union(*(one.ends(text, starts) for one in self.inside))
        for one in self.inside:
            starts = one.ends(text, starts)
        return starts


class Following:
    """What a whole element may have inside."""

    def __init__(self, whole: Particle) -> None:
        self._whole = whole
        self.surely: Callable[[str], re.Match[str] | None] = re.compile(whole.pattern()).fullmatch
        """A fast test: not None if the characters are what may be. None says nothing yet."""

    def fits(self, codes: str) -> bool:
        """Whether these characters are what may be."""
        return self.surely(codes) is not None or len(codes) in self._whole.ends(codes, {0})
