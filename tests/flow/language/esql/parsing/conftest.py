"""Parsing single statements."""

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.parsing.program_parsing import parse_program


def statement_of(text: str) -> syntax.Statement:
    """The first statement of a text."""
    (module,) = parse_program(text).modules
    body = module.routines[-1].body
    assert isinstance(body, syntax.Block)
    return body.body[0]
