"""An index of an element's children: by name, and by whatever else a path has asked for.

It is made for elements with many children only, and covers the first so many of them: what a parser or an `append` has
put behind those is taken in when somebody next looks. Whoever changes the order of children drops it.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heliograph.flow.tree.element import Element, Step


class FirstPlaces(dict[str, int]):
    """Where the first child of each name without a namespace is, among children that were packed.

    All elements of one layout share it, so making it costs a message nothing. It stays right while
    children are only appended.
    """

    __slots__ = ("covered",)

    def __init__(self, names: "list[str | None]") -> None:
        super().__init__()
        self.covered = len(names)
        for at, name in enumerate(names):
            if name is not None:
                self.setdefault(name, at)


NONE: "list[Element]" = []
"""What a look-up without a result returns; never changed."""


class ChildIndex:
    """Lists of children, each in document order."""

    __slots__ = ("_steps", "by_name", "covered")

    def __init__(self) -> None:
        self.covered = 0
        self.by_name: dict[str | tuple[str, str], list[Element]] = {}
        self._steps: dict[Step, tuple[list[Element], list[int]]] = {}

    def add(self, child: "Element") -> None:
        """This child comes behind those that are covered."""
        key = (child.namespace, child.name) if child.namespace else child.name
        found = self.by_name.get(key)
        if found is None:
            self.by_name[key] = [child]
        else:
            found.append(child)
        self.covered += 1

    def named(self, key: str | tuple[str, str], children: "list[Element]") -> "list[Element]":
        """All children of a name, or of a (namespace, name). The index's own list: look, do not keep."""
        covered = self.covered
        if covered != len(children):
            for child in children[covered:] if covered else children:
                self.add(child)
        return self.by_name.get(key, NONE)

    def matching(self, step: "Step", children: "list[Element]") -> "list[Element]":
        """All children that the step looks for. The index's own list: look, do not keep."""
        entry = self._steps.get(step)
        if entry is None:
            entry = self._steps[step] = ([], [0])
        found, covered = entry
        if covered[0] != len(children):
            matches = step.matches
            found.extend(child for child in children[covered[0] :] if matches(child))
            covered[0] = len(children)
        return found

    def remove(self, child: "Element") -> None:
        """This child is about to leave the others, which keep their order."""
        self._steps.clear()
        found = self.by_name.get((child.namespace, child.name) if child.namespace else child.name)
        # A child that is not in its list came behind those that are covered.
        if found is not None and child in found:
            found.remove(child)
            self.covered -= 1
