"""The language of flows: ESQL (`esql`), and its values (`values`).

This is what other rooms use of it; modules of flows import from the modules themselves.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.flow.language.dumping import dump
    from heliograph.flow.language.esql import syntax
    from heliograph.flow.language.esql.parsing.program_parsing import parse_program
    from heliograph.flow.language.esql.runtime.compiled_program import Compiled
    from heliograph.flow.language.esql.runtime.evaluation import DatabaseAccess, Rows, SharedVariables
    from heliograph.flow.language.values.conversions import convert
    from heliograph.flow.language.values.types import Type

__getattr__ = lazy_names(
    __name__,
    {
        "dumping": "dump",
        "esql.runtime.compiled_program": "Compiled",
        "esql.runtime.evaluation": "DatabaseAccess Rows SharedVariables",
        "esql.parsing.program_parsing": "parse_program",
        "esql.syntax": "syntax",
        "values.conversions": "convert",
        "values.types": "Type",
    },
)


__all__ = [
    "Compiled",
    "DatabaseAccess",
    "Rows",
    "SharedVariables",
    "Type",
    "convert",
    "dump",
    "parse_program",
    "syntax",
]
