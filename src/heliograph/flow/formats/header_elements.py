"""What formats of headers do with elements."""

from collections.abc import Iterable

from heliograph.flow.tree import Element, Value, building
from heliograph.flow.tree.element_types import NAME_VALUE


def fill(part: Element, fields: Iterable[tuple[str, Value]]) -> None:
    """Give a part (or a folder) these fields as its only children, as a reader does, and close it."""
    building.complete(part, [Element(name, value, NAME_VALUE) for name, value in fields])


def value_of(parent: Element | None, name: str) -> Value:
    """The value of a child; NULL if there is none."""
    child = parent.first(name) if parent is not None else None
    return child.value if child is not None else None


def put(parent: Element, name: str, value: Value) -> None:
    """Set the value of a child, if it has another."""
    child = parent.ensure(name)
    if child.value != value:
        child.set_value(value)
