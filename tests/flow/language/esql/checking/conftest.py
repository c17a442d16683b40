"""Checking texts."""

from heliograph.flow.language.esql.checking.program_checking import check_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_program


def found(text: str, kind: str = "COMPUTE", *others: str) -> list[str]:
    """The mistakes and warnings in a text, without their places."""
    library = [parse_program(other) for other in others]
    return [mistake.text for mistake in check_program(parse_program(text, kind=kind), library)]
