"""From an ESQL text to its syntax: by hand, with mistakes told in words, and several of them at once.

`lexer` and `cursor` go along the words; `paths`, `calls`, `expressions`, `simple_statements`, `tree_statements`,
`statements` and `programs` build on each other in this order.
"""

from heliograph.flow.language.esql.parsing.program_parsing import parse_expression, parse_program

__all__ = ["parse_expression", "parse_program"]
