"""What ESQL programs of nodes do: which files they need, and what they change."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from heliograph.errors import Problem
from heliograph.flow.definition import known, suggestion
from heliograph.flow.errors import InvalidFlow
from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.parsing.program_parsing import parse_program

# The ESQL of a flow: which module of which file a node runs.

MODULE_KINDS: Mapping[str, str] = {"Compute": "COMPUTE", "Filter": "FILTER", "Database": "DATABASE"}
"""The kind of modules that a type of nodes runs."""


def select_module(program: syntax.Program, name: str, kind: str) -> syntax.Module:
    """The module of this name, or the only one of this kind if no name is given; otherwise a Problem."""
    fitting = [module for module in program.modules if module.kind == kind]
    if not name:
        if len(fitting) == 1:
            return fitting[0]
        what = f"has {known(module.name for module in fitting)}: name one with module" if fitting else "has none"
        raise InvalidFlow(f"expected a {kind} module in {program.file}; it {what}")
    for module in program.modules:
        if module.name.lower() == name.lower():
            if module.kind != kind:
                raise InvalidFlow(f"module {module.name} in {program.file} is a {module.kind} module; expected {kind}")
            return module
    names = [module.name for module in program.modules]
    raise InvalidFlow(f"there is no module {name}{suggestion(name, names)} in {program.file}; it has: {known(names)}")


def parse_others(sources: Mapping[str, str], file: str) -> list[syntax.Program]:
    """The other ESQL files of the flow, whose routines a file may call; those that cannot be read are left out."""
    programs = []
    for other, text in sources.items():
        if other != file and other.endswith(".esql"):
            try:
                programs.append(parse_program(text, other))
            except Problem:
                continue
    return programs


def labels_of(modules: Iterable[syntax.Program | syntax.Module]) -> Iterator[syntax.Literal]:
    """Labels that PROPAGATE statements name as they are."""
    for node in syntax_nodes(list(modules)):
        if isinstance(node, syntax.Propagate) and isinstance(node.label, syntax.Literal):
            yield node.label


def syntax_nodes(value: Any) -> Iterator[Any]:
    """Every object of a syntax tree."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from syntax_nodes(item)
    elif is_dataclass(value) and not isinstance(value, type):
        yield value
        for field in fields(value):
            yield from syntax_nodes(getattr(value, field.name))


# Which of its input trees a module of ESQL may change: only then it gets copies of them.
#
# A statement changes the tree that its target begins with. A reference variable, a loop's variable or a parameter can
# point into any tree that something in the program points it to; which of them it does at run time does not matter
# here.

MESSAGE = frozenset({"inputroot", "inputbody", "inputproperties", "root", "body", "properties"})
"""Names of the input message and its parts, in lower case."""
_LOCAL_ENVIRONMENT = frozenset({"inputlocalenvironment", "inputdestinationlist", "localenvironment", "destinationlist"})


_EXCEPTION_LIST = frozenset({"inputexceptionlist", "exceptionlist"})


@dataclass(frozen=True, slots=True)
class Changes:
    """What may be changed."""

    message: bool
    local_environment: bool
    exception_list: bool

    @property
    def any(self) -> bool:
        """Whether there is one at all."""
        return self.message or self.local_environment or self.exception_list


def changes_of(programs: list[syntax.Program]) -> Changes:
    """What the modules of these programs (a file, and those whose routines it may call) may change."""
    changed: set[str] = set()
    points: dict[str, set[str]] = {}
    for node in syntax_nodes(programs):
        changed.update(_changed(node))
        for name, source in _pointing(node):
            points.setdefault(name, set()).add(source)
    reached = _reached(changed, points)
    return Changes(bool(reached & MESSAGE), bool(reached & _LOCAL_ENVIRONMENT), bool(reached & _EXCEPTION_LIST))


_ANY_PARAMETER = "a parameter of some routine"
"""Arguments are not followed to the routine that gets them: all parameters may be any argument."""


def _reached(names: set[str], points: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    ahead = set(names)
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead |= points.get(name, set())
    return reached


def _changed(node: Any) -> Iterator[str]:
    """The names at the beginning of what a statement changes."""
    match node:
        case syntax.Set() | syntax.Create() | syntax.Delete() | syntax.Attach():
            yield node.target.correlation.lower()
        case syntax.Detach():
            yield node.reference.lower()
        case syntax.CallStatement():
            for argument in (*node.call.arguments, node.into):
                if isinstance(argument, syntax.FieldReference):
                    yield argument.correlation.lower()
        case syntax.Eval():
            yield from MESSAGE | _LOCAL_ENVIRONMENT | _EXCEPTION_LIST
        case syntax.Call(name="EVAL"):
            yield from MESSAGE | _LOCAL_ENVIRONMENT | _EXCEPTION_LIST


def _pointing(node: Any) -> Iterator[tuple[str, str]]:
    """Which name may point into which tree, or to where another name points."""
    match node:
        case syntax.Declaration(initial=syntax.FieldReference() as field):
            if node.type.name == "REFERENCE":
                for name in node.names:
                    yield name.lower(), field.correlation.lower()
        case syntax.Move(target=syntax.FieldReference() as field):
            yield node.reference.lower(), field.correlation.lower()
        case syntax.Create(reference=str() as reference):
            yield reference.lower(), node.target.correlation.lower()
        case syntax.For():
            yield node.name.lower(), node.source.correlation.lower()
        case syntax.Attach():
            yield node.target.correlation.lower(), node.reference.lower()
        case syntax.Routine():
            for parameter in node.parameters:
                yield parameter.name.lower(), _ANY_PARAMETER
        case syntax.Call(built_in=False):
            for argument in node.arguments:
                if isinstance(argument, syntax.FieldReference):
                    yield _ANY_PARAMETER, argument.correlation.lower()
