"""An index of an element's children: by name, and by whatever else a path has asked for.

It is made for elements with many children only, and covers the first so many of them: what a parser or an `append` has
put behind those is taken in when somebody next looks. Whoever changes the order of children drops it.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heliograph.flow.tree.element import Element, Step

NONE: "list[Element]" = []
"""What a look-up without a result returns; never changed."""


class ChildIndex:
    """Lists of children, each in document order."""

    __slots__ = ("_covered", "_named", "_steps")

    def __init__(self) -> None:
        self._covered = 0
        self._named: dict[str | tuple[str, str], list[Element]] = {}
        self._steps: dict[Step, tuple[list[Element], list[int]]] = {}

    def named(self, key: str | tuple[str, str], children: "list[Element]") -> "list[Element]":
        """All children of a name, or of a (namespace, name). The index's own list: look, do not keep."""
        covered = self._covered
        if covered != len(children):
            named = self._named
            for child in children[covered:] if covered else children:
                own = (child.namespace, child.name) if child.namespace else child.name
                found = named.get(own)
                if found is None:
                    named[own] = [child]
                else:
                    found.append(child)
            self._covered = len(children)
        return self._named.get(key, NONE)

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
        found = self._named.get((child.namespace, child.name) if child.namespace else child.name)
        # A child that is not in its list came behind those that are covered.
        if found is not None and child in found:
            found.remove(child)
            self._covered -= 1
