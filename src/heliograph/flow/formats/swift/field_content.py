"""What a sequence of a SWIFT message must hold: fields and inner sequences, in order, and how often each."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from heliograph.errors import Problem

_ITEM = re.compile(r"(?P<name>[0-9]{2}[A-Za-z]?|[A-Z][A-Z0-9]*)(?P<occurs>[?+*]?)")
FIELD_TAG = re.compile(r"[0-9]{2,3}[A-Z]?")
AT_LEAST_ONE, AT_MOST_ONE = ("", "+"), ("", "?")


@dataclass(frozen=True, slots=True)
class Expected:
    """One item of a sequence."""

    pattern: str
    name: str
    occurs: str

    def describe(self) -> str:
        """What to call it in a message to people."""
        return f"field {self.name}" if self.name[0].isdigit() else f"sequence {self.name}"


class Content:
    """The items of a sequence, as one pattern over the names of what the sequence holds."""

    def __init__(self, items: Sequence[str]) -> None:
        self.expected = [expected_item(item) for item in items]
        self._fits = re.compile("".join(f"(?:{one.pattern} ){one.occurs}" for one in self.expected)).fullmatch

    def fits(self, names: list[str]) -> bool:
        """Whether a sequence may hold these tags and codes in this order."""
        return self._fits(" ".join(names) + " " if names else "") is not None

    def misfit(self, names: list[str]) -> tuple[str, str, int]:
        """What was expected and found instead, and at which place; only for names that do not fit."""
        at = 0
        tried: list[str] = []
        for one in self.expected:
            start = at
            while (
                at < len(names)
                and re.fullmatch(one.pattern, names[at])
                and (at == start or one.occurs not in AT_MOST_ONE)
            ):
                at += 1
            if at > start:
                tried = []
            elif one.occurs in AT_LEAST_ONE:
                return one.describe(), _found(names, at), at
            else:
                tried.append(one.describe())
        return " or ".join([*tried, "the end of the sequence"]), _found(names, at), at


def _found(names: list[str], at: int) -> str:
    if at >= len(names):
        return "the end of the sequence"
    return f"field {names[at]}" if names[at][0].isdigit() else f"sequence {names[at]}"


def expected_item(item: str) -> Expected:
    """The item that is written like `98a?`."""
    found = _ITEM.fullmatch(item)
    if found is None:
        raise Problem(
            f"expected a tag such as 20C or 98a, or the code of a sequence, with ?, + or * behind it; found {item!r}"
        )
    name = found["name"]
    pattern = name[:-1] + "[A-Z]?" if name[-1].islower() else name
    return Expected(pattern, name, found["occurs"])
