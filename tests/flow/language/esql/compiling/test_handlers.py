"""Handlers, THROW and LOG."""

import pytest

from heliograph.flow.errors import StatementError

RESUME = "DECLARE CONTINUE HANDLER FOR SQLSTATE LIKE '%' SET Environment.state = SQLSTATE;"


@pytest.mark.parametrize(
    ("declaration", "look", "found"),
    [
        ("DECLARE x INTEGER 1 / 0;", "COALESCE(x, 99)", 99),
        ("DECLARE x CHARACTER THE(SELECT ITEM 1 / 0 FROM InputRoot.XML.a[] AS A);", "COALESCE(x, 'none')", "none"),
        ("DECLARE x REFERENCE TO Environment.{NULL}.y;", "LASTMOVE(x)", False),
        ("DECLARE x ROW ROW(1 / 0 AS y);", "CARDINALITY(x.*[])", 0),
    ],
    ids=["scalar", "select", "reference", "row"],
)
def test_a_variable_whose_first_value_failed_has_none_under_a_continue_handler(run, declaration, look, found):
    outcome = run(f"{RESUME} {declaration} SET Environment.found = {look};", "<a/>")

    assert outcome.value("found") == found
    assert outcome.value("state") is not None


def test_a_continue_handler_does_not_take_away_a_value_that_could_be_had(run):
    assert run(f"{RESUME} DECLARE x INTEGER 5; SET Environment.x = x;").value("x") == 5


def test_throw_shows_its_values_as_cast_would(run):
    with pytest.raises(StatementError, match=r"DATE '2000-01-01', 1.5E\+0, X'00', NULL$"):
        run("THROW USER EXCEPTION VALUES(DATE '2000-01-01', 1.5, X'00', Environment.none);")


@pytest.mark.parametrize("statement", ["THROW USER EXCEPTION", "LOG EVENT"])
@pytest.mark.parametrize(
    ("clause", "reason"),
    [
        ("SEVERITY 'x'", "SEVERITY is an INTEGER, not CHARACTER"),
        ("CATALOG 5", "CATALOG is CHARACTER, not INTEGER"),
        ("MESSAGE 'x'", "MESSAGE is an INTEGER, not CHARACTER"),
    ],
)
def test_a_clause_of_the_wrong_type_is_an_error_that_names_it(run, statement, clause, reason):
    with pytest.raises(StatementError, match=reason):
        run(f"{statement} {clause} VALUES('a');")


def test_log_in_a_handler_has_the_exception_that_it_is_busy_with(run):
    outcome = run(
        """DECLARE EXIT HANDLER FOR SQLSTATE LIKE '%' LOG EVENT FULL EXCEPTION SEVERITY 1 VALUES('seen', 2);
        THROW USER EXCEPTION VALUES('boo');"""
    )

    (entry,) = outcome.logged
    assert (str(entry.exception), entry.full, entry.severity, entry.inserts) == ("boo", True, 1, ("seen", 2))
