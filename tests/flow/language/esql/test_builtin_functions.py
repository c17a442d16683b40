"""The table of functions: how many arguments each takes."""

import pytest

from heliograph.flow.language.esql.builtin_functions import (
    EXTRACTS,
    FUNCTIONS,
    OVERRIDABLE,
    ROUNDINGS,
    WITHOUT_PARENTHESES,
)
from heliograph.flow.language.values.functions import FUNCTIONS as SCALARS


def test_every_function_on_values_is_a_function_of_the_language_but_for_forms_of_substring() -> None:
    assert set(SCALARS) - set(FUNCTIONS) == {"SUBSTRING_AFTER", "SUBSTRING_BEFORE"}


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("ABS", 1, 1),
        ("COALESCE", 1, None),
        ("SAMEFIELD", 2, 2),
        ("TRIM", 1, 2),
        ("SUBSTRING", 1, 1),
        ("SQLSTATE", 0, 0),
    ],
)
def test_a_function_takes_this_many_arguments(name: str, least: int, most: int | None) -> None:
    assert FUNCTIONS[name] == (least, most)


def test_the_least_is_no_more_than_the_most() -> None:
    assert all(one.most is None or one.least <= one.most for one in FUNCTIONS.values())


def test_functions_without_parentheses_have_no_arguments() -> None:
    assert all(FUNCTIONS[name] == (0, 0) for name in WITHOUT_PARENTHESES)


def test_names_are_in_upper_case() -> None:
    names = {*FUNCTIONS, *EXTRACTS, *ROUNDINGS}
    assert {name.upper() for name in names} == names
    assert set(FUNCTIONS) >= OVERRIDABLE
