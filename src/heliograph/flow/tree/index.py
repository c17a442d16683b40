"""An index of an element's children: by name, and by whatever else a path has asked for.

It is made for elements with many children only, and covers the first `covered` of them: what a parser or an `append`
put behind those is added at the next look-up. Any other change of the children drops the index.
"""

from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from heliograph.flow.tree.element_types import type_matches


class Child(Protocol):
    """What an index, or a step of a path, looks at."""

    name: str
    namespace: str
    type: int


C = TypeVar("C", bound=Child)


class Step(NamedTuple):
    """What one element of a path looks for; None stands for anything."""

    name: str | None
    namespace: str | None = ""
    type: int | None = None

    def matches(self, element: Child) -> bool:
        """Whether this element is one that the step looks for."""
        return (
            (self.name is None or self.name == element.name)
            and (self.namespace is None or self.namespace == element.namespace)
            and (self.type is None or type_matches(self.type, element.type))
        )


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


NONE: list[Any] = []
"""What a look-up without a result returns; never changed."""


class ChildIndex(Generic[C]):
    """Lists of children, each in document order."""

    __slots__ = ("_steps", "by_name", "covered")

    def __init__(self) -> None:
        self.covered = 0
        self.by_name: dict[str | tuple[str, str], list[C]] = {}
        self._steps: dict[Step, tuple[list[C], list[int]]] = {}

    def add(self, child: C) -> None:
        """This child comes behind those that are covered."""
        key = (child.namespace, child.name) if child.namespace else child.name
        found = self.by_name.get(key)
        if found is None:
            self.by_name[key] = [child]
        else:
            found.append(child)
        self.covered += 1

    def named(self, key: str | tuple[str, str], children: list[C]) -> list[C]:
        """All children of a name, or of a (namespace, name). The index's own list: look, do not keep."""
        covered = self.covered
        if covered != len(children):
            for child in children[covered:] if covered else children:
                self.add(child)
        return self.by_name.get(key, NONE)

    def matching(self, step: Step, children: list[C]) -> list[C]:
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

    def remove(self, child: C) -> None:
        """This child is about to leave the others, which keep their order."""
        self._steps.clear()
        found = self.by_name.get((child.namespace, child.name) if child.namespace else child.name)
        # A child that is not in its list came behind those that are covered.
        if found is not None and child in found:
            found.remove(child)
            self.covered -= 1
