"""The state of the code generator: the function and block being written, names in scope, and known paths."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from enum import Enum, auto
from typing import Any

from heliograph.flow.errors import CompilationError
from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.compiling.python_names import Binding, Names, Prefixes, Scope
from heliograph.flow.language.esql.runtime.compiled_program import Place
from heliograph.flow.language.values.types import Type

# Pieces of Python that generators return and combine.


class Shape(Enum):
    """What kind of result a piece of Python evaluates to."""

    VALUE = auto()
    """A scalar; None is NULL."""
    FIELD = auto()
    """An element of some tree, or None: assigned by copying it."""
    ROW = auto()
    """A new element without a parent, or None."""
    FIELDS = auto()
    """A list of elements of some tree."""
    ROWS = auto()
    """A list of new elements."""
    VALUES = auto()
    """A list of scalars and new elements."""


LISTS = frozenset({Shape.FIELDS, Shape.ROWS, Shape.VALUES})


@dataclass(frozen=True, slots=True)
class Code:
    """A Python expression that can be used in any context: it is parenthesised where that is needed."""

    text: str
    type: Type | None = None
    """The type of its values, if it is known."""
    nullable: bool = True
    shape: Shape = Shape.VALUE

    @property
    def is_name(self) -> bool:
        """Whether it is a plain name, so that it may be evaluated twice without cost."""
        return self.text.replace(".", "_").isidentifier() or self.text.isdecimal()


NULL = Code("None", Type.NULL)


@dataclass(eq=False, slots=True)
class KnownRoutine:
    """A routine that can be called, and its name in Python."""

    routine: syntax.Routine
    python: str
    label: str
    """The name of the place in error texts: `Module.Routine`."""


class Unit:
    """One Python source text, with the names and constants that its functions share."""

    def __init__(self, file: str, around: Iterable[str] = ()) -> None:
        """`around` are names of the surrounding program, which it may use and must not redefine."""
        self.file = file
        self.names = Names(around, local=False)
        self.imports: set[str] = set()
        self.constants: dict[str, str] = {}
        self.body: list[str] = []
        self.places: list[Place] = []
        """With lines counted from the start of the body."""
        self.eval_sites: dict[str, EvalSite] = {}
        """What each EVAL needs of its place, by the name of its `EvalCompiler` in Python."""
        self.names_for_evals = 0
        """How many names the EVALs could use so far, each counted for each of them."""

    def insert(self, at: int, lines: list[str]) -> None:
        """Insert lines before others that are written already."""
        self.body[at:at] = lines
        behind = len(self.places)
        while behind and self.places[behind - 1].python_line > at:
            behind -= 1
            place = self.places[behind]
            self.places[behind] = replace(place, python_line=place.python_line + len(lines))

    def use(self, name: str) -> str:
        """A name from outside."""
        self.imports.add(name)
        return name

    def constant(self, text: str, like: str = "CONSTANT") -> str:
        """Return the name of a module-level constant, which is evaluated once when the unit is loaded."""
        if text not in self.constants:
            self.constants[text] = self.names.new(like)
        return self.constants[text]


@dataclass(eq=False, slots=True)
class Frame:
    """A Python function that is being written."""

    names: Names
    outer: "Frame | None" = None
    roots: dict[str, str] = field(default_factory=dict)
    """Trees that the function uses: the name of the local variable, and what it is of the evaluation."""
    nonlocals: set[str] = field(default_factory=set)
    scratch: str = ""
    result: Callable[[str], str] = field(default=lambda value: value)
    """What RETURN gives back for a value: routines with OUT parameters give those, too."""
    returns: syntax.DataType | None = None
    """What the routine declares to return."""

    def top(self) -> "Frame":
        """The function around all others."""
        frame = self
        while frame.outer is not None:
            frame = frame.outer
        return frame


@dataclass(slots=True)
class Environment:
    """What a routine can refer to beyond its own declarations."""

    kind: str
    """That of the module; empty for routines of a schema."""
    label: str
    file: str
    routines: Mapping[str, KnownRoutine]
    """By name in upper case, with and without schema."""
    lines: Sequence[str]
    """Of the ESQL that positions are in."""
    schema: str = ""


@dataclass(frozen=True, slots=True)
class EvalSite:
    """The scope of an EVAL: the names it can use, and the local variables that are passed to it."""

    environment: Environment
    visible: list[Binding]
    given: tuple[Binding, ...]
    statement: bool


class Context:
    """The generator's state while it writes one function."""

    def __init__(
        self, unit: Unit, environment: Environment, frame: Frame, scope: Scope, generators: Mapping[type, Any]
    ) -> None:
        self.unit = unit
        self.environment = environment
        self.frame = frame
        self.scope = scope
        self.prefixes = Prefixes()
        self.hoisting = True
        """Whether lines can be written that run before the expression at hand: not where it may not be evaluated."""
        self.reads: set[str] = set()
        """Trees that the expression at hand has looked at."""
        self.resumes: list[str] = []
        """Functions of CONTINUE handlers that guard the statements written here, from outside to inside."""
        self.error: str | None = None
        """Inside a handler: the variable that has the exception."""
        self.loops: list[str | None] = []
        """Labels of the loops around, from outside to inside, inside the function at hand."""
        self.loop_depth = 0
        """How many loops are around, outside of that function too."""
        self.jumps: dict[tuple[str, str], str] = {}
        """Exceptions for LEAVE and ITERATE that cannot be a break or continue."""
        self._generators = generators
        self._indent = 1

    # Writing

    def emit(self, line: str) -> None:
        """Write a line."""
        self.unit.body.append(self.margin() + line)

    def margin(self) -> str:
        """The indentation of the current line."""
        return "    " * self._indent

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Indent what is written inside the block."""
        before = len(self.unit.body)
        self._indent += 1
        yield
        if len(self.unit.body) == before or all(line.lstrip().startswith("#") for line in self.unit.body[before:]):
            self.emit("pass")
        self._indent -= 1

    def indent(self) -> None:
        """Indent what is written until `dedent`."""
        self._indent += 1

    def dedent(self) -> None:
        """End an indentation."""
        self._indent -= 1

    def place(self, node: syntax.Node) -> None:
        """Record that the lines that follow belong to this statement of the program."""
        statement = _statement_text(self.environment.lines, node)
        self.unit.places.append(
            Place(len(self.unit.body) + 1, self.environment.file, node.at.line, self.environment.label, statement)
        )
        self.emit(f"# {node.at.line}: {statement}")

    def checkpoint(self) -> tuple[int, int, int]:
        """Return the position of the generator, for `go_back`."""
        return len(self.unit.body), len(self.unit.places), self.frame.names.count()

    def go_back(self, written: tuple[int, int, int]) -> None:
        """Discard everything that was written since the checkpoint."""
        lines, places, names = written
        del self.unit.body[lines:], self.unit.places[places:]
        self.frame.names.take_back(names)
        if not self.frame.names.is_given(self.frame.scratch):
            self.frame.scratch = ""

    def use(self, name: str) -> str:
        """A name from outside."""
        return self.unit.use(name)

    def type_name(self, kind: Type) -> str:
        """Return the Python name of a type: a module-level constant, because members of an enumeration are slow to
        access."""
        return self.unit.constant(f"{self.use('Type')}.{kind.name}", kind.name)

    def temporary(self, like: str = "value") -> str:
        """A new local variable."""
        return self.frame.names.new(like)

    def scratch(self) -> str:
        """A local variable for `(f.value if (f := ...) ...)`, which is read where it is set."""
        if not self.frame.scratch:
            self.frame.scratch = self.temporary("f")
        return self.frame.scratch

    @contextmanager
    def conditionally(self) -> Iterator[None]:
        """For parts of an expression that are evaluated never, or more than once: nothing is hoisted."""
        hoisting, self.hoisting = self.hoisting, False
        yield
        self.hoisting = hoisting

    @contextmanager
    def block(self) -> Iterator[None]:
        """Open a scope for declarations."""
        outer, self.scope = self.scope, Scope(self.scope)
        yield
        self.scope = outer

    @contextmanager
    def function(self, name: str, parameters: str = "") -> Iterator[Frame]:
        """Write a nested function, for what cannot be written as one Python expression."""
        frame, prefixes, hoisting, loops, resumes = self.frame, self.prefixes, self.hoisting, self.loops, self.resumes
        self.frame = Frame(frame.names, frame, result=frame.result, returns=frame.returns)
        self.prefixes, self.hoisting, self.loops, self.resumes = Prefixes(), True, [], []
        self.emit(f"def {name}({parameters}):")
        at = len(self.unit.body)
        with self.indented():
            yield self.frame
            if self.frame.nonlocals:
                names = ", ".join(sorted(self.frame.nonlocals))
                self.unit.insert(at, ["    " * self._indent + f"nonlocal {names}"])
        self.frame, self.prefixes, self.hoisting, self.loops, self.resumes = frame, prefixes, hoisting, loops, resumes

    # Generating

    def any(self, node: syntax.Expression) -> Code:
        """Generate an expression of any shape."""
        generator = self._generators.get(type(node))
        if generator is None:
            raise self.problem(node, f"{type(node).__name__} cannot stand here")
        with self.in_order(node):
            code: Code = generator(self, node)
        return code

    @contextmanager
    def in_order(self, node: syntax.Expression) -> Iterator[None]:
        """For an expression that calls routines, so that its parts must be evaluated from left to right: a routine may
        change what other parts read. Nothing is hoisted from it."""
        if not self.hoisting or not self._calls_inside(node):
            yield
            return
        with self.conditionally():
            yield

    def _calls_inside(self, node: object) -> bool:
        """Whether there is a call of a routine below this part of an expression."""
        if isinstance(node, tuple):
            return any(self._calls(item) for item in node)
        return isinstance(node, syntax.Node) and any(self._calls(getattr(node, item.name)) for item in fields(node))

    def _calls(self, node: object) -> bool:
        if isinstance(node, syntax.Call) and not node.built_in:
            known = self.environment.routines.get(".".join([*node.schema, node.name]).upper())
            if known is not None and known.routine.language != "DATABASE":
                return True
        return self._calls_inside(node)

    def value(self, node: syntax.Expression) -> Code:
        """Generate an expression as a scalar."""
        code = self.any(node)
        if code.shape is Shape.VALUE:
            return code
        if code.shape in (Shape.FIELD, Shape.ROW):
            return Code(f"{self.use('field_value')}({code.text})")
        raise self.problem(node, "a list stands where a single value is needed: use THE(...), or [] on the target")

    def statement(self, node: syntax.Statement) -> None:
        """Write a statement."""
        self.hoisting = True
        self._generators[type(node)](self, node)

    def assign(self, binding: Binding) -> None:
        """Note that a variable is assigned to: paths that use it become invalid."""
        self.prefixes.assigned(binding)
        if binding.local_to is not None and binding.local_to is not self.frame:
            self.frame.nonlocals.add(binding.python)

    def problem(self, node: syntax.Node, text: str) -> CompilationError:
        """Return an error for a node that cannot be compiled."""
        return CompilationError(f"{self.environment.file}:{node.at.line}:{node.at.column}: {text}")


_LONGEST = 100
_LOOKED_AT = 2000
"""Characters of the text, with notes, that are looked at for these: a line may have very many statements."""
# Groups: comments, string literals and quoted names; a semicolon; everything else.
_PIECE = re.compile(r"""--[^\n]*|/\*.*?\*/|'[^']*'|"[^"]*"|;|[^-/'";]+|.""", re.DOTALL)


def _statement_text(text: Sequence[str], node: syntax.Node) -> str:
    """Return the beginning of a statement on one line, for the comment above its code."""
    lines = list(text[node.at.line - 1 : node.at.line + 20])
    if not lines:
        return ""
    lines[0] = lines[0][node.at.column - 1 : node.at.column - 1 + _LOOKED_AT]
    pieces = _PIECE.findall("\n".join(lines)[:_LOOKED_AT])
    end = pieces.index(";") if ";" in pieces else len(pieces)
    shown = " ".join("".join(" " if piece.startswith(("--", "/*")) else piece for piece in pieces[:end]).split())
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]} ..."
