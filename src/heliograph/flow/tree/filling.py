"""Setting fields of one parent, one after the other: what a transformation does most.

Here, and not in the methods of elements, since one call for many fields saves most of what each of them costs: finding
the place, telling the part, taking what is below.
"""

from typing import Any

from heliograph.flow.tree.element import Element


def fill(parent: Element, *items: Any) -> None:
    """Set fields: names and what they get, in turn; a value, or an element (its content is copied).


    As `set_value` or `take_content` for one after the other, with children made where they are missing.
    """
    if parent._open is not None:
        parent._open.read_all_of(parent)
    parent.touch()
    children = parent._children
    if type(parent) is not Element or children is not None:
        _fill_slowly(parent, items)
        return
    # Most parents are new: nothing has to be looked for, but for names that come twice.
    children = []
    made: dict[str, Element] = {}
    for name, item in zip(items[::2], items[1::2], strict=True):
        child = made.get(name)
        if child is None:
            child = made[name] = Element(name)
            child.parent = parent
            child._at = len(children)
            children.append(child)
        if type(item) is Element and item._children is None and item._open is None and child._children is None:
            child.value = item.value
        else:
            _give(child, item)
    parent._children = children or None


def fill_one(parent: Element, name: str, item: Any) -> None:
    """Set the first child of a name, as `fill` does."""
    child = parent.first(name)
    if child is None:
        if type(parent) is Element and type(item) is Element and item._children is None and item._open is None:
            # Made with its value: the part is told once.
            parent.append(Element(name, item.value))
            return
        child = parent.ensure(name)
    child.touch()
    if type(item) is Element and item._children is None and item._open is None and child._children is None:
        child.value = item.value
    else:
        _give(child, item)


def _fill_slowly(parent: Element, items: tuple[Any, ...]) -> None:
    for name, item in zip(items[::2], items[1::2], strict=True):
        fill_one(parent, name, item)


def _give(child: Element, item: Any) -> None:
    if isinstance(item, Element):
        child.take_content(item)
    else:
        child.value = item
