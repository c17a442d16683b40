"""Names: those of the program, found by its scopes, and those that its variables get in Python."""

import builtins
import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.compiling.imports import MODULE_OF
from heliograph.flow.language.values.types import Type

_RESERVED = frozenset(keyword.kwlist) | frozenset(dir(builtins)) | frozenset(MODULE_OF) | {"ev", "own"}


class Names:
    """The names of one Python function (and those inside it), or of the text around all functions: each given once.

    Names around the functions begin with an underscore, and local ones never do: a local variable cannot hide what a
    function needs from outside, even if that is named later.
    """

    def __init__(self, reserved: Iterable[str] = (), *, local: bool = True) -> None:
        self._taken = {*_RESERVED, *reserved}
        self._given: list[tuple[str, str, int]] = []
        """The names in the order in which they were given: each with its word, and the last number of that before."""
        self._numbers: dict[str, int] = {}
        """The last number of each word: there may be very many of one."""
        self._start = "" if local else "_"

    def new(self, like: str) -> str:
        """A name that nobody has yet, and that looks like this."""
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
        """How many names were given, to come back to."""
        return len(self._given)

    def take_back(self, count: int) -> None:
        """Take back all names but the first ones."""
        while len(self._given) > count:
            name, word, before = self._given.pop()
            self._taken.remove(name)
            self._numbers[word] = before

    def is_given(self, name: str) -> bool:
        """Whether this is one of the names."""
        return name in self._taken


class Kind(Enum):
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
    kind: Kind
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
    """Declarations of one block; what is not here is looked for outside."""

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
