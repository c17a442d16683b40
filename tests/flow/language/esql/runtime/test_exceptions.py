"""Exceptions as a program sees them."""

from datetime import datetime
from typing import Any

import pytest

from heliograph.errors import Problem
from heliograph.flow.errors import (
    DIVIDE_BY_ZERO,
    TOO_DEEP,
    DatabaseError,
    DownstreamFailure,
    EsqlError,
    ExpressionError,
    StatementError,
)
from heliograph.flow.formats import Catalogue
from heliograph.flow.language.esql.runtime import exceptions
from heliograph.flow.language.esql.runtime.evaluation import Evaluation, LogEntry
from heliograph.flow.tree import Element


def _evaluation(**given: Any) -> Evaluation:
    return Evaluation(Element("Root"), catalogue=Catalogue(), now=datetime(2004, 9, 30), **given)


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (ExpressionError(DIVIDE_BY_ZERO, "divided by zero"), "S22012"),
        (EsqlError(2432, "a path"), "S02432"),
        (DatabaseError("gone", "08006"), "D08006"),
        (exceptions.thrown(number=3001), "U03001"),
        (exceptions.thrown(values=(-5, "U9999", 7, "mine")), "U9999"),
        (exceptions.thrown(values=(-5, "U9999")), "U02951"),
        (StatementError("f", 1, "r", "SET", DatabaseError("gone", "08006")), "D08006"),
        (DownstreamFailure("behind", 5004, EsqlError(2432, "a path")), "S05004"),
        (RecursionError(), f"S{TOO_DEEP:05d}"),
        (Problem("another"), "S00000"),
    ],
)
def test_an_exception_has_its_state(error: Any, state: str) -> None:
    assert exceptions.state_of(error) == state


def test_what_is_caught_is_shown() -> None:
    evaluation = _evaluation()
    assert exceptions.caught(evaluation, exceptions.thrown(values=(-5, "U9999", 7, "mine"))) == "U9999"
    shown = evaluation.sqlcode, evaluation.sqlstate, evaluation.sqlnativeerror, evaluation.sqlerrortext
    assert shown == (-5, "U9999", 7, "mine")
    exceptions.caught(evaluation, ExpressionError(DIVIDE_BY_ZERO, "divided by zero"))
    assert (evaluation.sqlcode, evaluation.sqlerrortext) == (-DIVIDE_BY_ZERO, "divided by zero")


@pytest.mark.parametrize(
    ("pattern", "fits"), [("U%", True), ("U0____", True), ("S%", False), ("U0300", False), ("U03001", True)]
)
def test_a_handler_names_states_by_a_pattern(pattern: str, fits: bool) -> None:
    assert exceptions.state_like("U03001", pattern) is fits


def test_throw_has_what_its_clauses_say() -> None:
    error = exceptions.thrown(2, "mine", 3001, (1, None, "x"))
    assert (error.severity, error.catalog, error.number, error.inserts) == (2, "mine", 3001, (1, None, "x"))
    assert str(error) == "1, NULL, x"


@pytest.mark.parametrize(
    ("clauses", "said"),
    [
        ({"severity": "x"}, "SEVERITY is an INTEGER"),
        ({"catalog": 1}, "CATALOG is CHARACTER"),
        ({"number": 1.5}, "MESSAGE"),
    ],
)
def test_a_clause_wants_its_type(clauses: dict[str, Any], said: str) -> None:
    with pytest.raises(ExpressionError, match=said):
        exceptions.thrown(**clauses)


def test_log_goes_to_whoever_runs_the_program() -> None:
    entries: list[LogEntry] = []
    exceptions.log(_evaluation(log=entries.append), True, severity=1, values=("x",))
    (entry,) = entries
    assert (entry.trace, entry.severity, entry.number, entry.inserts) == (True, 1, 2951, ("x",))


def test_labels_are_exceptions_that_handlers_do_not_see() -> None:
    assert not issubclass(exceptions.jump("a"), exceptions.FAILURES)
