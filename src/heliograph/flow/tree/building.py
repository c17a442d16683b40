"""The builder interface: how parsers put elements into a part.

Parsing does not change a message, so a parser does not call `append` or `set_value`, which tell the part that its bytes
are out of date. It writes into the elements themselves:

- `element.loaded`: its children so far. Set `child.parent`, then append.
- `element.pending`: what will bring more. Set it to the part when an element begins that may get more children, and to
  None when its end has been parsed; of the part itself last. Set it to `Packed` instead to give all children at once.
- `element.child_index`: set it to None after anything but appending to `loaded`.

Loops in which most of the time of parsing goes do that in place. Everywhere else, these functions say what is meant.
"""

from collections.abc import Iterable

from heliograph.flow.tree.element import Element


def attach(parent: Element, child: Element) -> None:
    """Put a new child behind those that are loaded."""
    child.parent = parent
    if parent.loaded is None:
        parent.loaded = [child]
    else:
        parent.loaded.append(child)


def attach_at(parent: Element, position: int, child: Element) -> None:
    """Put a new child at a position among those that are loaded."""
    child.parent = parent
    if parent.loaded is None:
        parent.loaded = [child]
    else:
        parent.loaded.insert(position, child)
        parent.child_index = None


def complete(element: Element, children: Iterable[Element]) -> None:
    """Give an element all its children, which are new, and close it."""
    loaded = list(children)
    for child in loaded:
        child.parent = element
    element.loaded = loaded
    element.pending = None


def keep(element: Element, children: list[Element]) -> None:
    """Keep just these of the children that are loaded."""
    element.loaded = children or None
    element.child_index = None


def is_leaf(element: Element) -> bool:
    """Whether it has no children, and will have none."""
    return element.loaded is None and element.pending is None
