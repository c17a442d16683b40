"""Look-ups: finding an element's children by name, number or step, and its siblings.

Theory of operation. `loaded` is the list of the children that exist as elements. A few children are scanned, many are
looked up in `child_index`, which is made when somebody first asks and is then extended by what was appended since (see
`index.py`). A look-up that does not find enough among the loaded children calls `read_more`, until it has enough or
there is no more: so a message is parsed only as far as a program looks. What asks for the last child, for all, or for
their number, reads all first.

Each element that was stepped to remembers its position in `last_position`. It is only a hint: a look at that position
tells whether it still holds, so nobody has to correct it when siblings come or go.
"""

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from heliograph.flow.tree.index import ChildIndex, FirstPlaces, Step

FEW = 8
"""Up to this number of children, a scan is faster than an index."""

N = TypeVar("N", bound="Lookup[Any]")


class Lookup(Generic[N]):
    """What has children and siblings: the base of `Element`, which is the only N."""

    __slots__ = ("child_index", "last_position", "loaded", "name", "namespace", "parent", "type")

    is_part = False
    """Whether it is a child of a message's root, with bytes of its own."""

    name: str
    namespace: str
    type: int
    parent: "N | None"
    loaded: "list[N] | None"
    """The children that exist as elements; None for none."""
    child_index: "ChildIndex[N] | FirstPlaces | None"
    """Finds children by name; whoever changes the order of `loaded` sets it to None."""
    last_position: int
    """Where it was among its siblings when that was last looked up: a hint, which is checked."""

    @property
    def children(self) -> "list[N]":
        """All children, in order. Not to be changed by the caller."""
        raise NotImplementedError

    def read_more(self) -> bool:
        """Read on until there is another child; False if there is none."""
        raise NotImplementedError

    def nth(self, name: str, number: int) -> "N | None":
        """The child that is the number-th (from 1) of this name without a namespace."""
        if number < 1:
            return None
        index = self.child_index
        if type(index) is ChildIndex:  # as in a loop over many children: without the calls
            named = index.by_name.get(name)
            if named is not None and number <= len(named):
                return named[number - 1]
        found = self._named(name)
        while len(found) < number:
            if not self.read_more():
                return None
            found = self._named(name)
        return found[number - 1]

    def last(self, name: str, number: int = 1) -> "N | None":
        """The child that is the number-th from the end (1 is the last) of this name without a namespace."""
        _ = self.children
        found = self._named(name)
        return found[-number] if 1 <= number <= len(found) else None

    def all(self, name: str) -> "list[N]":
        """All children of this name without a namespace: a new list, that later changes do not change."""
        _ = self.children
        return self._named(name).copy()

    def count(self, name: str) -> int:
        """How many children of this name without a namespace there are."""
        _ = self.children
        return len(self._named(name))

    def match_first(self, step: Step) -> "N | None":
        """The first child that the step looks for."""
        return self.match_nth(step, 1)

    def match_nth(self, step: Step, number: int) -> "N | None":
        """The number-th child (from 1) of those that the step looks for."""
        if number < 1:
            return None
        found = self._matching(step)
        while len(found) < number:
            if not self.read_more():
                return None
            found = self._matching(step)
        return found[number - 1]

    def match_last(self, step: Step, number: int = 1) -> "N | None":
        """The number-th child from the end (1 is the last) of those that the step looks for."""
        _ = self.children
        found = self._matching(step)
        return found[-number] if 1 <= number <= len(found) else None

    def match_all(self, step: Step) -> "list[N]":
        """All children that the step looks for: a new list, that later changes do not change."""
        _ = self.children
        return self._matching(step).copy()

    def match_count(self, step: Step) -> int:
        """How many children the step looks for."""
        _ = self.children
        return len(self._matching(step))

    def descendants(self) -> "Iterator[N]":
        """Everything below, in document order."""
        for child in self.children:
            yield child
            yield from child.descendants()

    def next_sibling(self, step: Step | None = None) -> "N | None":
        """The nearest sibling behind it (that the step looks for).

        Every element that was stepped to remembers where it is, so a walk over all siblings takes linear time.
        """
        parent = self.parent
        if parent is None:
            return None
        at = self.position() + 1
        while True:
            siblings = parent.loaded or ()
            for position in range(at, len(siblings)):
                sibling: N = siblings[position]
                if step is None or step.matches(sibling):
                    sibling.last_position = position
                    return sibling
            at = max(at, len(siblings))
            if not parent.read_more():
                return None

    def previous_sibling(self, step: Step | None = None) -> "N | None":
        """The nearest sibling before it (that the step looks for); as fast as `next_sibling`."""
        if self.parent is None or self.parent.loaded is None:
            return None
        siblings = self.parent.loaded
        for position in range(self.position() - 1, -1, -1):
            sibling: N = siblings[position]
            if step is None or step.matches(sibling):
                sibling.last_position = position
                return sibling
        return None

    def path(self) -> str:
        """Where it stands in its part (or under the topmost element), for people: `Order.Item[2].Price`.

        The first of several with the same name has no number.
        """
        names: list[str] = []
        element: Lookup[Any] = self
        while element.parent is not None and not element.is_part:
            same = [one for one in element.parent.loaded or () if one.name == element.name]
            number = next((at for at, one in enumerate(same, 1) if one is element), 1)
            names.append(element.name if number == 1 else f"{element.name}[{number}]")
            element = element.parent
        return ".".join(reversed(names))

    def position(self) -> int:
        """Its place among its parent's children, from 0."""
        siblings = self.parent.loaded if self.parent is not None else None
        if siblings is None:
            return 0
        at = self.last_position
        if at >= len(siblings) or siblings[at] is not self:
            at = self.last_position = siblings.index(self)
        return at

    def _named(self, name: str) -> "list[N]":
        children = self.loaded
        if children is None:
            return []
        if len(children) <= FEW:
            return [child for child in children if child.name == name and not child.namespace]
        return self._full_index().named(name, children)

    def _matching(self, step: Step) -> "list[N]":
        children = self.loaded
        if children is None:
            return []
        name, namespace, kind = step
        if kind is None and namespace is None and name is None:
            return children
        if len(children) <= FEW:
            return [child for child in children if step.matches(child)]
        index = self._full_index()
        if name is None or namespace is None or kind is not None:
            return index.matching(step, children)
        return index.named((namespace, name) if namespace else name, children)

    def _full_index(self) -> "ChildIndex[N]":
        index = self.child_index
        if type(index) is not ChildIndex:
            index = self.child_index = ChildIndex()
        return index
