"""What is wrong with a program although its syntax is right: names, calls, labels, and what may be changed where."""

from heliograph.flow.language.esql.checking.program_checking import check_expression, check_program

__all__ = ["check_expression", "check_program"]
