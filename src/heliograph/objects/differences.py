"""What differs between two objects of a kind, and what it takes until that counts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from heliograph.objects.attributes import Attribute, Effect, attributes_of


@dataclass(frozen=True, slots=True)
class Difference:
    """An attribute that has another value."""

    key: str
    """Where it is, as in `listener[1].port`."""
    before: Any
    after: Any
    effect: Effect


def differences(old: Any, new: Any, where: str = "") -> Iterator[Difference]:
    """The attributes that differ between two objects of one class; objects within are compared one by one."""
    for attribute in attributes_of(type(old)):
        before, after = getattr(old, attribute.field), getattr(new, attribute.field)
        if before == after:
            continue
        key, about = f"{where}{attribute.key}", attribute.about
        if not attribute.is_table or about.whole:
            yield Difference(key, before, after, about.effect)
        elif attribute.many:
            yield from _between_arrays(attribute, before, after, key)
        else:
            yield from differences(before, after, f"{key}.")


def _between_arrays(
    attribute: Attribute, before: tuple[Any, ...], after: tuple[Any, ...], key: str
) -> Iterator[Difference]:
    if len(before) != len(after):
        yield Difference(key, before, after, attribute.about.effect)
    for number, (old, new) in enumerate(zip(before, after, strict=False), 1):
        yield from differences(old, new, f"{key}[{number}].")
