"""EVAL: ESQL that is made while the program runs, compiled when it is first met."""

from collections.abc import Callable
from typing import Any

from heliograph.common.bounded_dict import BoundedDict
from heliograph.flow.language.esql.evaluation import Evaluation
from heliograph.flow.language.values.errors import ExpressionError
from heliograph.flow.language.values.types import type_of

NOT_TEXT = 2443

_KEPT = 1000


class Surroundings:
    """Where an EVAL stands: compiles texts with the names that are in scope there."""

    def __init__(self, compile_text: Callable[[str], Callable[..., Any]]) -> None:
        self._compile = compile_text
        self._known: BoundedDict[str, Callable[..., Any]] = BoundedDict(_KEPT)

    def compiled(self, text: Any) -> Callable[..., Any]:
        """The function for a text; those used last are kept."""
        function = self._known.get(text)
        if function is None:
            if type(text) is not str:
                raise ExpressionError(NOT_TEXT, f"EVAL takes CHARACTER, not {type_of(text).value}", (text,))
            function = self._compile(text)
            self._known[text] = function
        return function


def evaluate(surroundings: Surroundings, text: Any, evaluation: Evaluation, own: Any, values: tuple[Any, ...]) -> Any:
    """EVAL as an expression; `values` are those of the local variables."""
    return surroundings.compiled(text)(evaluation, own, *values)


def run_text(
    surroundings: Surroundings, text: Any, evaluation: Evaluation, own: Any, values: tuple[Any, ...]
) -> tuple[Any, ...]:
    """EVAL as a statement: gives the local variables as they are afterwards."""
    result: tuple[Any, ...] = surroundings.compiled(text)(evaluation, own, *values)
    return result
