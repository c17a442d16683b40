"""Objects that are made only if their attributes make sense."""

from collections.abc import Iterable
from typing import Any

from heliograph.errors import Problem
from heliograph.objects.attributes import attributes_of

Mistake = tuple[str, str]
"""The key of an attribute, and what is wrong with it: `expected ..., found ...`."""


class InvalidObject(Problem):
    """Attributes that make no sense: all mistakes, one line each."""

    def __init__(self, mistakes: Iterable[Mistake], what: str = "") -> None:
        """`what` says which object it is, as in "queue orders"."""
        self.mistakes = tuple(mistakes)
        before = f"{what}, " if what else ""
        super().__init__("\n".join(f"{before}{key}: {mistake}" for key, mistake in self.mistakes))


def check(instance: Any, rules: Iterable[Mistake] = (), what: str = "") -> None:
    """Raise InvalidObject if an attribute has a value that it may not have, or else a rule between them is broken.

    Rules are tried only on values that make sense alone.
    """
    if mistakes := own_mistakes(instance) or list(rules):
        raise InvalidObject(mistakes, what)


def own_mistakes(instance: Any) -> list[Mistake]:
    """What is wrong with attributes, each looked at alone; objects within are their own business."""
    return [
        (attribute.key, mistake)
        for attribute in attributes_of(type(instance))
        if not attribute.is_table and (mistake := attribute.mistake(getattr(instance, attribute.field)))
    ]
