"""Which names are known at a place in a program."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from heliograph.flow.language.esql.syntax import Declaration, Position, Program, Routine


@dataclass(frozen=True, slots=True)
class Variable:
    """A name that a program itself makes known: a variable, a parameter, or a correlation name of SELECT or FOR."""

    name: str
    kind: str
    """A type, as in `DataType`; CORRELATION for the names of SELECT, FOR and the like."""
    at: Position
    constant: bool = False
    parameter: bool = False


@dataclass(slots=True)
class Scope:
    """The names of one block, routine, module or schema, and those around it. Case does not count."""

    around: "Scope | None" = None
    variables: dict[str, Variable] = field(default_factory=dict)
    routines: dict[str, Routine] = field(default_factory=dict)

    def inside(self) -> "Scope":
        """A new scope in this one."""
        return Scope(self)

    def declare(self, variable: Variable) -> Variable | None:
        """Make a variable known; gives the one of the same name that this scope had before."""
        before = self.variables.get(variable.name.upper())
        self.variables[variable.name.upper()] = variable
        return before

    def outward(self) -> "Iterator[Scope]":
        """This scope and those around it, from inside to outside."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.around

    def variable(self, name: str) -> Variable | None:
        """The innermost variable of this name."""
        key = name.upper()
        return next((scope.variables[key] for scope in self.outward() if key in scope.variables), None)

    def routine(self, name: str) -> Routine | None:
        """The innermost routine of this name."""
        key = name.upper()
        return next((scope.routines[key] for scope in self.outward() if key in scope.routines), None)

    def names(self) -> Iterable[str]:
        """All variables, from inside to outside."""
        return (variable.name for scope in self.outward() for variable in scope.variables.values())

    def routine_names(self) -> Iterable[str]:
        """All routines, from inside to outside."""
        return (routine.name for scope in self.outward() for routine in scope.routines.values())


class Library:
    """What other files make known: routines by the name of their schema, and names on the PATH of this file."""

    def __init__(self, program: Program, others: Sequence[Program]) -> None:
        self._routines: dict[tuple[str, ...], dict[str, Routine]] = {}
        self._variables: dict[str, Variable] = {}
        own = _folded(program.schema)
        self._path = (own, *(_folded(schema) for schema in program.path))
        for other in (program, *others):
            schema = _folded(other.schema)
            routines = self._routines.setdefault(schema, {})
            routines |= {routine.name.upper(): routine for routine in other.routines}
            if schema in self._path and other is not program:
                for declaration in other.declarations:
                    self._variables |= {variable.name.upper(): variable for variable in variables_of(declaration)}

    def variable(self, name: str) -> Variable | None:
        """A variable of another file that can be named here."""
        return self._variables.get(name.upper())

    def variable_names(self) -> list[str]:
        """All of them."""
        return [variable.name for variable in self._variables.values()]

    def routine(self, schema: tuple[str, ...], name: str) -> Routine | None:
        """A routine by its full name."""
        return self._routines.get(_folded(schema), {}).get(name.upper())

    def routine_on_path(self, name: str) -> Routine | None:
        """A routine of another file that can be called without its schema."""
        for schema in self._path:
            routine = self._routines.get(schema, {}).get(name.upper())
            if routine is not None:
                return routine
        return None

    def routine_names(self) -> list[str]:
        """All routines that can be called without their schema."""
        return [routine.name for schema in self._path for routine in self._routines.get(schema, {}).values()]


def variables_of(declaration: Declaration) -> list[Variable]:
    """The variables that a DECLARE makes."""
    constant = declaration.constant or declaration.external or declaration.type.name in ("NAME", "NAMESPACE")
    return [Variable(name, declaration.type.name, declaration.at, constant) for name in declaration.names]


def _folded(schema: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.upper() for name in schema)
