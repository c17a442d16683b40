"""Giving fields to an element: what a transformation does most."""

from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from heliograph.flow.tree.element import Element
from heliograph.flow.tree.packed import Packed, layout_of

_SCALARS = frozenset((str, int, float, Decimal, bool, bytes, date, time, datetime))


def fill_new(parent: Element, names: tuple[str, ...], items: Sequence[Any]) -> bool:
    """Give an element that has no children yet leaves with these names and values, packed.

    False, and nothing is done, if it has some, or if not all are values, or if a name comes twice.
    """
    if type(parent) is not Element or parent._children is not None or parent._open is not None:
        return False
    layout = layout_of(names)
    if layout is None or not _SCALARS.issuperset(map(type, items)):
        return False
    parent.pack(Packed(layout, items))
    return True


def fill_one(parent: Element, name: str, content: Any) -> None:
    """Give the first child of a name, made if it is missing, what `Element.content` says of another."""
    child = parent.first(name)
    if isinstance(content, Element):
        (child or parent.ensure(name)).take_content(content)
    elif child is None and type(parent) is Element:
        parent.append(Element(name, content))  # made with its value: the part is told once
    else:
        take_leaf(child or parent.ensure(name), content)


def take_leaf(target: Element, value: Any) -> None:
    """Become a copy of a leaf with this value, but keep the own name (and type)."""
    if target._children is not None or target._open is not None:
        target.clear()
    target.set_value(value)
