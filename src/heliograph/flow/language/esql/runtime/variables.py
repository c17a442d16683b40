"""Variables that outlive one routine, and truth values."""

from typing import Any

from heliograph.flow.language.esql.evaluation import Evaluation
from heliograph.flow.language.values.conversions import convert
from heliograph.flow.language.values.logic import boolean
from heliograph.flow.language.values.types import Type


class Variables:
    """The variables of a module and its schemas during one evaluation; generated code sets and reads them."""

    def __getattr__(self, name: str) -> Any:
        """NULL, for a variable whose declaration has not been reached."""
        return None


def external(evaluation: Evaluation, name: str, target: Type | None, default: Any) -> Any:
    """The value of an EXTERNAL variable: what the flow was given, or what the program says."""
    value = evaluation.external.get(name, default)
    return value if target is None else convert(value, target, evaluation.now)


def truth(value: Any) -> bool | None:
    """A truth value; an error for anything else."""
    return boolean(value, "a condition")
