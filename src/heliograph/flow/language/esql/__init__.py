"""ESQL: the language in which the nodes of a flow say what to do with a message.

A text becomes a `Program` (`parsing`, made of `syntax`), which is checked (`checking`) and compiled.
"""

from heliograph.flow.language.esql.esql_problem import EsqlProblem, Mistake
from heliograph.flow.language.esql.parsing import parse_expression, parse_program

__all__ = ["EsqlProblem", "Mistake", "parse_expression", "parse_program"]
