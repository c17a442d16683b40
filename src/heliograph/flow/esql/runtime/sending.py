"""PROPAGATE."""

from typing import Any

from heliograph.flow.esql.evaluation import Evaluation, Propagation
from heliograph.flow.tree import Element
from heliograph.flow.values.errors import ExpressionError

BAD_TERMINAL = 2442

_BY_NUMBER = {-2: "nowhere", -1: "failure", 0: "out", 1: "out1", 2: "out2", 3: "out3", 4: "out4"}
_TERMINALS = frozenset(_BY_NUMBER.values())


def terminal_of(value: Any) -> str:
    """The terminal that PROPAGATE TO TERMINAL names, by word or by number."""
    found = _BY_NUMBER.get(value) if type(value) is int else value
    if type(found) is str and found in _TERMINALS:
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
    if terminal != "nowhere":
        evaluation.propagate(Propagation(terminal, label, message, local_environment, exception_list, finalize))
    if delete:
        evaluation.clear_outputs()
