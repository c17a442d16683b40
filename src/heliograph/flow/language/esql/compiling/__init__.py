"""From the syntax of ESQL to Python, which is compiled and run.

`code`, `names`, `prefixes` and `context` are what the generator works with; `steps`, `paths`, `expressions`,
`functions` and `selects` write expressions; `assignments`, `statements`, `trees`, `handlers` and `databases` write
statements; `routines` and `modules` put them together.
"""

from heliograph.flow.language.esql.compiling.program_compiling import (
    FilterExpression,
    compile_filter_expression,
    compile_program,
    compile_sources,
)

__all__ = ["FilterExpression", "compile_filter_expression", "compile_program", "compile_sources"]
