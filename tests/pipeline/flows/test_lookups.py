"""Answers of databases are kept for a while, and not too many of them."""

from decimal import Decimal

import pytest

from heliograph.flow.language.esql.runtime.evaluation import Rows
from heliograph.pipeline.flows.lookups import Lookups


@pytest.fixture
def clock():
    class Clock:
        now = 0.0

        def __call__(self):
            return self.now

    return Clock()


@pytest.fixture
def lookups(clock):
    return Lookups(2, 10.0, clock)


def ask(lookups, *parameters):
    """How often a database was asked until the answer was there."""
    lookups.answer("DB", "SELECT", parameters, lambda: Rows((), ()))
    return lookups.asked


def test_the_same_question_is_asked_once(lookups):
    assert ask(lookups, 1) == 1
    assert ask(lookups, 1) == 1
    assert ask(lookups, 2) == 2


def test_an_old_answer_is_asked_for_again(lookups, clock):
    ask(lookups, 1)
    clock.now = 9.9
    assert ask(lookups, 1) == 1
    clock.now = 10.0
    assert ask(lookups, 1) == 2


def test_the_answer_that_was_used_longest_ago_goes_first(lookups):
    for parameter in (1, 2, 1, 3):
        ask(lookups, parameter)
    assert len(lookups) == 2
    assert ask(lookups, 1) == 3
    assert ask(lookups, 2) == 4


def test_numbers_of_different_types_are_different_questions(lookups):
    assert [ask(lookups, value) for value in (1, True, 1.0, Decimal(1))] == [1, 2, 3, 4]
