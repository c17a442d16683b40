"""PROPAGATE."""

from typing import Any

from heliograph.flow.language.esql.evaluation import Evaluation, Propagation
from heliograph.flow.language.esql.names import TERMINALS
from heliograph.flow.language.values.errors import ExpressionError
from heliograph.flow.tree import Element

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
