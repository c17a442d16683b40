"""Runs ESQL that stands in documentation: single expressions, and statements on a message."""

from datetime import datetime
from typing import Any

from heliograph.errors import Problem
from heliograph.flow.formats import Catalogue
from heliograph.flow.language.esql.compiling.program_compiling import compile_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_program
from heliograph.flow.language.esql.runtime.evaluation import Evaluation
from heliograph.flow.language.values.types import character
from heliograph.flow.tree import Element

NOW = datetime(2026, 11, 16, 12, 0, 0)


def run(text: str, xml: str = "", domain: str = "XMLNSC") -> Evaluation:
    """Statements, or a compute module, on a message."""
    root = Element("Root")
    if xml:
        root.append(Catalogue().part_of(domain, xml.encode()))
    compiled = compile_program(parse_program(text, "example.esql"))
    (module,) = compiled.modules.values()
    evaluation = Evaluation(root, catalogue=Catalogue(), now=NOW)
    module.run(evaluation)
    return evaluation


def value(expression: str, xml: str = "") -> str:
    """The value of an expression, as a literal; what is said, if there is none."""
    try:
        result = run(f"SET Environment.Result VALUE = {expression};", xml).environment.first("Result")
    except Problem as problem:
        return f"fails: {problem}"
    return literal(result.value if result is not None else None)


def literal(value: Any) -> str:
    """A value as ESQL writes it."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return character(value)
