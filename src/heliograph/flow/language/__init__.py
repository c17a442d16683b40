"""The language of flows: ESQL (`esql`), and its values (`values`).

An ESQL text is parsed (`parse_program`) and checked, compiled once (`CompiledProgram`), and run for each message on its
trees. Begin with `esql/__init__.py`; for types, casts and functions with `values/__init__.py`.

The names here are those that other rooms use; modules of flows import from the modules themselves.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.flow.language.dumping import dump_tree
    from heliograph.flow.language.esql import syntax
    from heliograph.flow.language.esql.parsing.program_parsing import parse_program
    from heliograph.flow.language.esql.runtime.compiled_program import CompiledProgram
    from heliograph.flow.language.esql.runtime.evaluation import DatabaseAccess, Rows, SharedVariables
    from heliograph.flow.language.values.conversions import convert
    from heliograph.flow.language.values.types import Type

__getattr__ = lazy_names(
    __name__,
    {
        "dumping": "dump_tree",
        "esql.runtime.compiled_program": "CompiledProgram",
        "esql.runtime.evaluation": "DatabaseAccess Rows SharedVariables",
        "esql.parsing.program_parsing": "parse_program",
        "esql.syntax": "syntax",
        "values.conversions": "convert",
        "values.types": "Type",
    },
)


__all__ = [
    "CompiledProgram",
    "DatabaseAccess",
    "Rows",
    "SharedVariables",
    "Type",
    "convert",
    "dump_tree",
    "parse_program",
    "syntax",
]
