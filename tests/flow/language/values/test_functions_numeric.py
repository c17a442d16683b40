"""Numeric functions."""

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.flow.errors import (
    BAD_ARGUMENT,
    DIVIDE_BY_ZERO,
    INCOMPATIBLE_TYPES,
    OVERFLOW,
    ExpressionError,
)
from heliograph.flow.language.values.functions import FUNCTIONS
from heliograph.flow.language.values.literals import MAX_INTEGER, MIN_INTEGER

INF, NAN = float("inf"), float("nan")


def call(name: str, *arguments: Any) -> Any:
    return FUNCTIONS[name].call(*arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("ABS", (-5,), 5),
        ("ABS", (-5.5,), 5.5),
        ("ABSVAL", (Decimal("-1.50"),), Decimal("1.50")),
        ("SIGN", (-3,), -1),
        ("SIGN", (0.0,), 0),
        ("SIGN", (Decimal("0.1"),), 1),
        ("MOD", (7, 3), 1),
        ("MOD", (-7, 3), -1),
        ("MOD", (7, -3), 1),
        ("MOD", (-7, -3), -1),
        ("POWER", (2, 10), 1024),
        ("POWER", (2, -1), 0.5),
        ("POWER", (-1, 10**9 + 1), -1),
        ("POWER", (-1, 10**9), 1),
        ("POWER", (0, 0), 1),
        ("POWER", (1, 10**18), 1),
        ("POWER", (4.0, 0.5), 2.0),
        ("POWER", (Decimal("1.1"), 2), Decimal("1.21")),
        ("SQRT", (4,), 2.0),
        ("SQRT", (Decimal("6.25"),), Decimal("2.5")),
        ("FLOOR", (-1.5,), -2.0),
        ("FLOOR", (5,), 5),
        ("FLOOR", (Decimal("1.9"),), Decimal(1)),
        ("CEIL", (1.2,), 2.0),
        ("CEILING", (Decimal("-1.9"),), Decimal(-1)),
        ("FLOOR", (INF,), INF),
        ("ROUND", (27.75, 2), 27.75),
        ("ROUND", (27.75, 1), 27.8),
        ("ROUND", (27.75, 0), 28.0),
        ("ROUND", (27.75, -1), 30.0),
        ("ROUND", (2.345, 2), 2.35),
        ("ROUND", (-2.5, 0), -3.0),
        ("ROUND", (1234, -2), 1200),
        ("ROUND", (1250, -2), 1300),
        ("ROUND", (1234, 2), 1234),
        ("ROUND", (Decimal("1.005"), 2), Decimal("1.00")),
        ("ROUND", (Decimal("2.5"), 0), Decimal(2)),
        ("ROUND", (Decimal("3.5"), 0), Decimal(4)),
        ("ROUND", (25, -1), 30),
        ("ROUND", (1234, -5000), 0),
        ("ROUND", (1.5, 8000), 1.5),
        ("ROUND", (INF, 2), INF),
        ("TRUNCATE", (27.79, 1), 27.7),
        ("TRUNCATE", (-27.79, 0), -27.0),
        ("TRUNCATE", (1299, -2), 1200),
        ("TRUNCATE", (Decimal("1.999"), 2), Decimal("1.99")),
        ("BITAND", (12, 7), 4),
        ("BITAND", (15, 7, 5), 5),
        ("BITOR", (12, 7), 15),
        ("BITXOR", (12, 7), 11),
        ("BITNOT", (7,), -8),
        ("LN", (1,), 0.0),
        ("LOG", (math.e,), 1.0),
        ("LOG10", (1000,), 3.0),
        ("EXP", (0,), 1.0),
        ("DEGREES", (math.pi,), 180.0),
        ("RADIANS", (180,), math.pi),
        ("SIN", (0,), 0.0),
        ("COS", (Decimal(0),), 1.0),
        ("TAN", (0,), 0.0),
        ("COT", (math.pi / 4,), 1.0000000000000002),
        ("ASIN", (1,), math.pi / 2),
        ("ACOS", (1,), 0.0),
        ("ATAN", (0,), 0.0),
        ("ATAN2", (0, -1), math.pi),
        ("SINH", (0,), 0.0),
        ("COSH", (0,), 1.0),
        ("TANH", (0,), 0.0),
    ],
)
def test_results(name: str, arguments: tuple[Any, ...], result: Any) -> None:
    found = call(name, *arguments)
    assert found == result
    assert type(found) is type(result)


@pytest.mark.parametrize(
    ("mode", "results"),
    [
        ("ROUND_UP", (3, 3, -3, -3, 3)),
        ("ROUND_DOWN", (2, 2, -2, -2, 2)),
        ("ROUND_CEILING", (3, 3, -2, -2, 3)),
        ("ROUND_FLOOR", (2, 2, -3, -3, 2)),
        ("ROUND_HALF_UP", (2, 3, -3, -3, 3)),
        ("ROUND_HALF_EVEN", (2, 2, -2, -3, 3)),
        ("ROUND_HALF_DOWN", (2, 2, -2, -3, 3)),
    ],
)
def test_round_modes(mode: str, results: tuple[int, ...]) -> None:
    for text, result in zip(("2.4", "2.5", "-2.5", "-2.6", "2.51"), results, strict=True):
        assert call("ROUND", Decimal(text), 0, mode) == result
        assert call("ROUND", float(text), 0, mode) == result


@pytest.mark.parametrize(
    ("name", "arguments", "number"),
    [
        ("ABS", (MIN_INTEGER,), OVERFLOW),
        ("ABS", ("5",), INCOMPATIBLE_TYPES),
        ("ABS", (True,), INCOMPATIBLE_TYPES),
        ("SIGN", (NAN,), BAD_ARGUMENT),
        ("MOD", (1, 0), DIVIDE_BY_ZERO),
        ("MOD", (1.5, 1), INCOMPATIBLE_TYPES),
        ("POWER", (2, 63), OVERFLOW),
        ("POWER", (10, 10**9), OVERFLOW),
        ("POWER", (10.0, 1000), OVERFLOW),
        ("POWER", (-1, 0.5), BAD_ARGUMENT),
        ("POWER", (Decimal(0), -1), DIVIDE_BY_ZERO),
        ("SQRT", (-1,), BAD_ARGUMENT),
        ("SQRT", (NAN,), BAD_ARGUMENT),
        ("SQRT", (Decimal("NaN"),), BAD_ARGUMENT),
        ("SQRT", (Decimal(-1),), BAD_ARGUMENT),
        ("LN", (0,), BAD_ARGUMENT),
        ("LOG10", (-1,), BAD_ARGUMENT),
        ("ACOS", (2,), BAD_ARGUMENT),
        ("EXP", (1000,), OVERFLOW),
        ("COT", (0,), DIVIDE_BY_ZERO),
        ("COT", (INF,), BAD_ARGUMENT),
        ("ROUND", (MAX_INTEGER, -1), OVERFLOW),
        ("ROUND", (1.5, 1.0), INCOMPATIBLE_TYPES),
        ("ROUND", (1.5, 1, "ROUND_ABOUT"), BAD_ARGUMENT),
        ("BITAND", (1, 1.0), INCOMPATIBLE_TYPES),
        ("RAND", (1.5,), INCOMPATIBLE_TYPES),
    ],
)
def test_errors(name: str, arguments: tuple[Any, ...], number: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        call(name, *arguments)
    assert caught.value.number == number


def test_rand() -> None:
    assert call("RAND", 7) == call("RAND", 7)
    assert call("RAND", 7) != call("RAND", 8)
    assert 0 <= call("RAND") < 1
    assert call("RAND", None) is None


@given(st.integers(MIN_INTEGER, MAX_INTEGER), st.integers(MIN_INTEGER, MAX_INTEGER).filter(bool))
def test_mod_has_the_sign_of_its_first_argument(left: int, right: int) -> None:
    rest = call("MOD", left, right)
    assert abs(rest) < abs(right)
    assert (left - rest) % right == 0
    assert rest == 0 or (rest < 0) is (left < 0)


@given(st.floats(-1e10, 1e10), st.integers(0, 4))
def test_round_and_truncate_are_near(number: float, places: int) -> None:
    unit = 10.0**-places
    assert abs(call("ROUND", number, places) - number) <= unit / 2 * 1.001 + 1e-4
    assert abs(call("TRUNCATE", number, places)) <= abs(number) + 1e-4
