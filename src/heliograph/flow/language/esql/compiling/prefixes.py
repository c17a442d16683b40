"""Paths that have been walked already: which local variable holds the element at their end.

Statements next to each other tend to use fields next to each other. What a path led to is kept in a local variable
until a statement might have changed where it leads.
"""

from dataclasses import dataclass, field

from heliograph.flow.language.esql.compiling.python_names import Binding


@dataclass(frozen=True, slots=True)
class StepKey:
    """A step of a path, as far as it matters whether two are the same."""

    text: str
    """Everything about it."""
    name: str | None
    """Its name, if that is known."""


@dataclass(frozen=True, slots=True)
class Route:
    """A path: where it starts, in which tree, and its steps."""

    root: str
    tree: str
    """Two paths in different trees have nothing to do with each other; the tree of a reference may be any."""
    steps: tuple[StepKey, ...]
    uses: frozenset[Binding] = frozenset()
    """Variables that it depends on."""


ANY_TREE = "*"
NEW_TREE = "new"
"""The tree of a row that is being made: nobody can look at it from elsewhere."""


@dataclass(frozen=True, slots=True)
class Known:
    """A path that was walked."""

    python: str
    ensured: bool
    """Whether the element is there for certain; else the variable may hold ABSENT."""
    later: bool = field(default=False, compare=False)
    """Whether it may not have been walked yet, as a loop does so in its first round: the variable then holds None."""


_MOST = 100
"""How many paths are known at once: each statement may change where each of them leads."""


@dataclass(slots=True)
class Prefixes:
    """The paths that are known at one point of the generated code."""

    known: dict[Route, Known] = field(default_factory=dict)

    def learn(self, route: Route, known: Known) -> None:
        """A path was walked. If there are too many, the one that has been known longest is forgotten."""
        self.known[route] = known
        if len(self.known) > _MOST:
            del self.known[next(iter(self.known))]

    def copy(self) -> "Prefixes":
        """The same knowledge, for a branch."""
        return Prefixes(dict(self.known))

    def clear(self) -> None:
        """Forget everything."""
        self.known.clear()

    def keep_common(self, branches: "list[Prefixes]") -> None:
        """After branches: keep what all of them still know."""
        self.known = {
            route: known
            for route, known in self.known.items()
            if all(branch.known.get(route) == known for branch in branches)
        }

    def lasting(self, before: "Prefixes") -> dict[Route, bool]:
        """Paths that were walked in a round of a loop, and may be kept for the next, as they mean the same in all; and
        whether their ends are there for certain."""
        return {
            route: known.ensured
            for route, known in self.known.items()
            if route.steps and not route.uses and route not in before.known
        }

    def assigned(self, binding: Binding) -> None:
        """A variable has changed."""
        self._forget([route for route in self.known if binding in route.uses])

    def made(self, target: Route) -> None:
        """Fields on this path were made where there were none, behind all others: what was there is there still."""
        self._forget(
            [route for route, known in self.known.items() if not known.ensured and not _survives(route, known, target)]
        )

    def written(self, target: Route) -> None:
        """The field at the end of this path was set, removed or replaced; fields on the way may have been made."""
        self._forget([route for route, known in self.known.items() if not _survives(route, known, target)])

    def _forget(self, routes: list[Route]) -> None:
        for route in routes:
            del self.known[route]


def _survives(route: Route, known: Known, target: Route) -> bool:
    if route.root != target.root:
        if target.tree == NEW_TREE:
            return True
        return ANY_TREE not in (route.tree, target.tree) and route.tree != target.tree
    for ours, theirs in zip(route.steps, target.steps, strict=False):
        if ours.text != theirs.text:
            if ours.name is not None and theirs.name is not None and ours.name != theirs.name:
                return True
            break
    return known.ensured and len(route.steps) < len(target.steps)
