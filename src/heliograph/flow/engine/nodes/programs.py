"""The ESQL of a flow: which module of which file a node runs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from heliograph.errors import Problem
from heliograph.flow.definition.mistakes import known, suggestion
from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.parsing import parse_program

MODULE_KINDS: Mapping[str, str] = {"Compute": "COMPUTE", "Filter": "FILTER", "Database": "DATABASE"}
"""The kind of modules that a type of nodes runs."""


def select_module(program: syntax.Program, name: str, kind: str) -> syntax.Module:
    """The module of this name, or the only one of this kind if no name is given; otherwise a Problem."""
    fitting = [module for module in program.modules if module.kind == kind]
    if not name:
        if len(fitting) == 1:
            return fitting[0]
        what = f"has {known(module.name for module in fitting)}: name one with module" if fitting else "has none"
        raise Problem(f"expected a {kind} module in {program.file}; it {what}")
    for module in program.modules:
        if module.name.lower() == name.lower():
            if module.kind != kind:
                raise Problem(f"module {module.name} in {program.file} is a {module.kind} module; expected {kind}")
            return module
    names = [module.name for module in program.modules]
    raise Problem(f"there is no module {name}{suggestion(name, names)} in {program.file}; it has: {known(names)}")


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
    for node in everything(list(modules)):
        if isinstance(node, syntax.Propagate) and isinstance(node.label, syntax.Literal):
            yield node.label


def everything(value: Any) -> Iterator[Any]:
    """Every object of a syntax tree."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from everything(item)
    elif is_dataclass(value) and not isinstance(value, type):
        yield value
        for field in fields(value):
            yield from everything(getattr(value, field.name))
