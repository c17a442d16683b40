"""EVAL and PROPAGATE: a running program compiles another text, or hands on a message."""

from collections.abc import Callable
from typing import Any

from heliograph.common.bounded_dict import BoundedDict
from heliograph.flow.errors import ExpressionError
from heliograph.flow.language.esql.names import TERMINALS
from heliograph.flow.language.esql.runtime.evaluation import Evaluation, Propagation
from heliograph.flow.language.values.types import type_of
from heliograph.flow.tree import Element

# EVAL: ESQL text that is computed at run time. Each text is compiled when it is first evaluated.

NOT_TEXT = 2443

_KEPT = 1000


class EvalCompiler:
    """Compiles the texts of one EVAL, with the names that are in scope there."""

    def __init__(self, compile_text: Callable[[str], Callable[..., Any]]) -> None:
        self._compile = compile_text
        self._known: BoundedDict[str, Callable[..., Any]] = BoundedDict(_KEPT)

    def compiled(self, text: Any) -> Callable[..., Any]:
        """Return the compiled function of a text; recently used ones are cached."""
        function = self._known.get(text)
        if function is None:
            if type(text) is not str:
                raise ExpressionError(NOT_TEXT, f"EVAL takes CHARACTER, not {type_of(text).value}", (text,))
            function = self._compile(text)
            self._known[text] = function
        return function


def evaluate(eval_compiler: EvalCompiler, text: Any, evaluation: Evaluation, own: Any, values: tuple[Any, ...]) -> Any:
    """EVAL as an expression; `values` are those of the local variables."""
    return eval_compiler.compiled(text)(evaluation, own, *values)


def run_text(
    eval_compiler: EvalCompiler, text: Any, evaluation: Evaluation, own: Any, values: tuple[Any, ...]
) -> tuple[Any, ...]:
    """EVAL as a statement: gives the local variables as they are afterwards."""
    result: tuple[Any, ...] = eval_compiler.compiled(text)(evaluation, own, *values)
    return result


# PROPAGATE.

BAD_TERMINAL = 2442

_NAMES = frozenset(TERMINALS.values())


def terminal_of(value: Any) -> str:
    """The terminal that PROPAGATE TO TERMINAL names, by word or by number."""
    found = TERMINALS.get(value) if type(value) is int else value
    if type(found) is str and found in _NAMES:
        return found
    raise ExpressionError(
        BAD_TERMINAL, f"{value!r} is no terminal: use out, out1 to out4, failure or nowhere, or -2 to 4", (value,)
    )


def label_of(value: Any) -> str:
    """The label that PROPAGATE TO LABEL names."""
    if type(value) is str:
        return value
    raise ExpressionError(BAD_TERMINAL, f"a label is CHARACTER, not {value!r}", (value,))


def send(
    evaluation: Evaluation,
    terminal: str | None = "out",
    label: str | None = None,
    message: Element | None = None,
    local_environment: Element | None = None,
    exception_list: Element | None = None,
    finalize: bool = True,
    delete: bool = True,
) -> None:
    """Hand the message on, and come back when everything behind is done with it."""
    try:
        if terminal != "nowhere":
            evaluation.propagate(Propagation(terminal, label, message, local_environment, exception_list, finalize))
    finally:
        if delete:
            evaluation.clear_outputs()
