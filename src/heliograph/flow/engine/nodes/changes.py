"""Which of its input trees a module of ESQL may change: only then it gets copies of them.

A statement changes the tree that its target begins with. A reference variable, a loop's variable or a parameter can
point into any tree that something in the program points it to; which of them it does at run time does not matter here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from heliograph.flow.engine.nodes.programs import everything
from heliograph.flow.language.esql import syntax

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
    for node in everything(programs):
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
