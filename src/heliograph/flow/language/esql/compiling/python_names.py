"""Names and paths: what the generator knows about variables of the program, and about elements in local variables.

- `MODULE_OF`: what generated code may import.
- `Names`: allocates Python names. `Scope` and `Binding`: what a name of the program stands for.
- `Prefixes`: known paths, each with the local variable that holds the element at its end.
"""

import builtins
import keyword
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.values.types import Type

# Names that generated code may use, and the modules they come from.

_ESQL = "heliograph.flow.language.esql"
_VALUES = "heliograph.flow.language.values"

_MODULES: Mapping[str, str] = {
    f"{_ESQL}.runtime.field_paths": """
        ABSENT ensure ensure_match ensure_match_last ensure_nth every find last last_child match match_every match_last
        name_of nth siblings type_number
        Reference attach delete detach put reference relative
        field_name field_namespace field_type field_value same_field
    """,
    f"{_ESQL}.runtime.assigning": """
        Fields copy_field copy_here copy_match copy_named copy_nth
        set_aspect set_copies set_field set_here set_match set_nth set_rows set_values
        Variables external truth
    """,
    f"{_ESQL}.runtime.rows": """
        equal_lists equal_rows first_value negated row_item scalar_of the values_of
        copy_of count greatest insert_fields smallest total
    """,
    f"{_ESQL}.runtime.bitstreams": "as_bit_stream new_field parse",
    f"{_ESQL}.runtime.exceptions": "FAILURES caught jump log state_like thrown",
    f"{_ESQL}.runtime.database_statements": "call change commit passthru query quoted rollback",
    f"{_ESQL}.runtime.eval_propagate": "evaluate label_of run_text send terminal_of",
    f"{_VALUES}.arithmetic": "add concatenate difference divide multiply negate subtract",
    f"{_VALUES}.bits": "Bits",
    f"{_VALUES}.casts": "cast",
    f"{_VALUES}.comparison": """
        between between_symmetric equal greater greater_or_equal in_ is_inf is_nan is_num less less_or_equal like
        not_equal
        is_false is_true is_unknown not_
    """,
    f"{_VALUES}.conversions": "convert",
    f"{_VALUES}.times": "Qualifier",
    f"{_VALUES}.literals": "to_date to_gmttime to_gmttimestamp to_interval to_time to_timestamp",
    f"{_VALUES}.types": "Type",
    f"{_VALUES}.functions": "CURRENT FUNCTIONS",
    "heliograph.flow.tree": "Element Step",
    "heliograph.errors": "Problem",
    "decimal": "Decimal",
}

MODULE_OF: Mapping[str, str] = {name: module for module, names in _MODULES.items() for name in names.split()}
"""Names by themselves, with the module that has them."""


def import_lines(names: set[str]) -> list[str]:
    """The import statements for these names."""
    by_module: dict[str, list[str]] = {}
    for name in sorted(names):
        by_module.setdefault(MODULE_OF[name], []).append(name)
    return [f"from {module} import {', '.join(by_module[module])}" for module in sorted(by_module)]


_RESERVED = frozenset(keyword.kwlist) | frozenset(dir(builtins)) | frozenset(MODULE_OF) | {"ev", "own"}


class Names:
    """Allocates names for one Python function and its nested functions, or for the module around them; each name once.

    Module-level names begin with an underscore and local names never do. So a local variable cannot hide a
    module-level name, even one that is allocated later.
    """

    def __init__(self, reserved: Iterable[str] = (), *, local: bool = True) -> None:
        self._taken = {*_RESERVED, *reserved}
        self._given: list[tuple[str, str, int]] = []
        """The names in the order in which they were given: each with its word, and the last number of that before."""
        self._numbers: dict[str, int] = {}
        """The last number of each word: there may be very many of one."""
        self._start = "" if local else "_"

    def new(self, like: str) -> str:
        """Allocate a free name that resembles this word."""
        word = re.sub(r"\W", "_", like, flags=re.ASCII).lstrip("_") or "x"
        if word[0].isdigit():
            word = f"x{word}"
        word = self._start + word
        before = number = self._numbers.get(word, 0)
        name = ""
        while not name or name in self._taken:
            number += 1
            name = word if number == 1 else f"{word}_{number}"
        self._taken.add(name)
        self._numbers[word] = number
        self._given.append((name, word, before))
        return name

    def count(self) -> int:
        """How many names are allocated, for `take_back`."""
        return len(self._given)

    def take_back(self, count: int) -> None:
        """Free all names but the first `count`."""
        while len(self._given) > count:
            name, word, before = self._given.pop()
            self._taken.remove(name)
            self._numbers[word] = before

    def is_given(self, name: str) -> bool:
        """Whether this is one of the names."""
        return name in self._taken


class BindingKind(Enum):
    """What a name of the program stands for."""

    SCALAR = auto()
    ROW = auto()
    REFERENCE = auto()
    CORRELATION = auto()
    """An element that SELECT or a quantifier is looking at."""


@dataclass(eq=False, slots=True)
class Binding:
    """A declared name."""

    name: str
    python: str
    """How it is read in Python, and assigned to."""
    kind: BindingKind
    type: Type | None = None
    local_to: object = None
    """The function whose local variable it is; None for variables of a module or a schema."""
    constant: bool = False
    literal: str | None = None
    """The text of a NAME, a NAMESPACE or another constant whose value is known."""
    is_name: bool = False
    """Whether it is a NAME, which stands for a name in a path. A NAMESPACE stands for one before the colon only."""
    fields: syntax.Qualifier | None = None
    """Of an INTERVAL that is declared with them: values that are put into it have these."""


@dataclass(slots=True)
class Scope:
    """The declarations of one block; other names are looked up in the enclosing scopes."""

    outer: "Scope | None" = None
    bindings: dict[str, Binding] = field(default_factory=dict)

    def find(self, name: str) -> Binding | None:
        """What this name stands for."""
        key, scope = name.upper(), self
        while True:
            if key in scope.bindings:
                return scope.bindings[key]
            if scope.outer is None:
                return None
            scope = scope.outer

    def declare(self, binding: Binding) -> None:
        """Add a name; a second declaration of it takes the place of the first."""
        self.bindings[binding.name.upper()] = binding

    def visible(self) -> list[Binding]:
        """All names that can be used here, the nearest of each."""
        found: dict[str, Binding] = {}
        scope: Scope | None = self
        while scope is not None:
            for key, binding in scope.bindings.items():
                found.setdefault(key, binding)
            scope = scope.outer
        return list(found.values())


# Known paths.
#
# Why: neighbouring statements tend to use neighbouring fields, and each step of a path costs a lookup. So the element
# at the end of a path stays in a local variable until a statement may change what the path finds. The rules are in
# `_survives`.


@dataclass(frozen=True, slots=True)
class StepKey:
    """The identity of a step, to compare the steps of two paths."""

    text: str
    """All of the step: name, namespace, type and index, as Python."""
    name: str | None
    """Its name, if that is known."""


@dataclass(frozen=True, slots=True)
class Route:
    """A path: where it starts, in which tree, and its steps."""

    root: str
    tree: str
    """Paths in different trees cannot overlap. The tree of a reference variable is `ANY_TREE`."""
    steps: tuple[StepKey, ...]
    uses: frozenset[Binding] = frozenset()
    """Variables that it depends on."""


ANY_TREE = "*"
NEW_TREE = "new"
"""The tree of a row under construction: no other path leads into it."""


@dataclass(frozen=True, slots=True)
class Known:
    """The local variable of a known path."""

    python: str
    ensured: bool
    """Whether the element surely exists; otherwise the variable may hold ABSENT."""
    later: bool = field(default=False, compare=False)
    """Whether the lookup happens in the first round of a loop: until then the variable holds None."""


_MOST = 100
"""The limit of known paths: each statement is checked against all of them."""


@dataclass(slots=True)
class Prefixes:
    """The paths that are known at one point of the generated code."""

    known: dict[Route, Known] = field(default_factory=dict)

    def learn(self, route: Route, known: Known) -> None:
        """Add a known path. Beyond the limit, the oldest is removed."""
        self.known[route] = known
        if len(self.known) > _MOST:
            del self.known[next(iter(self.known))]

    def copy(self) -> "Prefixes":
        """Return a copy, for a branch."""
        return Prefixes(dict(self.known))

    def clear(self) -> None:
        """Forget everything."""
        self.known.clear()

    def keep_common(self, branches: "list[Prefixes]") -> None:
        """After branches: keep the paths that are valid at the end of all of them."""
        self.known = {
            route: known
            for route, known in self.known.items()
            if all(branch.known.get(route) == known for branch in branches)
        }

    def lasting(self, before: "Prefixes") -> dict[Route, bool]:
        """Return the paths learned in a round of a loop that stay valid in later rounds, because they use no variables;
        with whether their elements surely exist."""
        return {
            route: known.ensured
            for route, known in self.known.items()
            if route.steps and not route.uses and route not in before.known
        }

    def assigned(self, binding: Binding) -> None:
        """A variable was assigned: remove the paths that use it."""
        self._forget([route for route in self.known if binding in route.uses])

    def made(self, target: Route) -> None:
        """Missing fields on this path were created, behind existing ones: remove overlapping paths that may hold
        ABSENT."""
        self._forget(
            [route for route, known in self.known.items() if not known.ensured and not _survives(route, known, target)]
        )

    def written(self, target: Route) -> None:
        """The field at the end of this path was set, removed or replaced: remove the paths that overlap it."""
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
