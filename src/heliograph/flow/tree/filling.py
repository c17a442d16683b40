"""Giving fields to an element: what a transformation does most."""

from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from typing import Any

from heliograph.flow.tree.element import Element
from heliograph.flow.tree.element_types import NAME
from heliograph.flow.tree.index import Step
from heliograph.flow.tree.packed import Layout, Packed, PackedField
from heliograph.flow.tree.part import Part

SCALARS = frozenset((str, int, float, Decimal, bool, bytes, date, time, datetime))
"""Types of what can be packed: values, which are neither elements nor nothing."""


def fill(parent: Element, layout: Layout, items: Sequence[Any]) -> bool:
    """Give an element that has no children yet these, packed, or one that has just these other values for them.

    False, and nothing is done, if it has others, or if not all are values.
    """
    packed = parent.pending
    if (
        (type(parent) is not Element and type(parent) is not Part)
        or parent.loaded is not None
        or (packed is not None and (type(packed) is not Packed or packed.layout is not layout))
        or not SCALARS.issuperset(map(type, items))
    ):
        return False
    parent.pack(Packed(layout, items))
    return True


@lru_cache(maxsize=1024)
def layout_of(paths: tuple[tuple[Step, ...], ...]) -> Layout | None:
    """Leaves at the ends of these paths, as setting them one after the other makes them; None if that would set a
    field twice, or one below another. Programs that set the same fields share it."""
    tree: dict[str, Any] = {}
    for place, (*above, last) in enumerate(paths):
        level = tree
        for step in above:
            level = level.setdefault(step.name or "", {})
            if not isinstance(level, dict):
                return None
        if last.name in level:
            return None
        level[last.name or ""] = (place, last)
    return _layout(tree)


def _layout(tree: dict[str, Any]) -> Layout:
    return Layout(
        [
            PackedField(name, NAME, "", None, -1, _layout(below))
            if isinstance(below, dict)
            else PackedField(name, NAME if below[1].type is None else below[1].type, "", None, below[0], None)
            for name, below in tree.items()
        ]
    )


def fill_one(parent: Element, name: str, content: Any) -> None:
    """Give the first child of a name, made if it is missing, what `Element.content` says of another."""
    if isinstance(content, Element):
        parent.ensure(name).take_content(content)
        return
    if type(parent.pending) is Packed and not isinstance(parent.content(name), Element):
        parent.set_value_of(name, content)
        return
    child = parent.first(name)
    if child is None and type(parent) is Element:
        parent.append(Element(name, content))  # made with its value, so that the part is told of one change only
    else:
        take_leaf(child or parent.ensure(name), content)


def take_leaf(target: Element, value: Any) -> None:
    """Become a copy of a leaf with this value, but keep the own name (and type)."""
    if target.loaded is not None or target.pending is not None:
        target.clear()
    target.set_value(value)
