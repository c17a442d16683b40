"""FORMAT patterns of numbers, both ways."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.flow.errors import ConversionError, ExpressionError
from heliograph.flow.language.values.number_patterns import read, write
from heliograph.flow.language.values.types import Type


@pytest.mark.parametrize(
    ("value", "pattern", "text"),
    [
        (1234567.891, "#,##0.00", "1,234,567.89"),
        (0, "#,##0.00", "0.00"),
        (-1234.5, "#,##0.00", "-1,234.50"),
        (-1234.5, "#,##0.00;(#,##0.00)", "(1,234.50)"),
        (1234.5, "#,##0.00;(#,##0.00)", "1,234.50"),
        (5, "000", "005"),
        (12345, "000", "12345"),
        (0, "#", "0"),
        (0.5, "#.##", ".5"),
        (0.5, "0.##", "0.5"),
        (5.0, "0.##", "5"),
        (5, "0.0##", "5.0"),
        (2.345, "0.00", "2.34"),
        (2.5, "0", "2"),
        (3.5, "0", "4"),
        (-0.001, "0.00", "0.00"),
        (Decimal("12345678901234567890.5"), "0.0", "12345678901234567890.5"),
        (0.256, "0%", "26%"),
        (0.256, "0.0 %", "25.6 %"),
        (12345, "0.###E0", "1.234E4"),
        (12355, "0.00E0", "1.24E4"),
        (12345, "0.00E+00", "1.23E+04"),
        (0.00012, "0.0E0", "1.2E-4"),
        (9.99, "0.0E0", "1.0E1"),
        (0, "0.0E0", "0.0E0"),
        (12345, "##0.##E0", "12.34E3"),
        (12345, "00.#E0", "12.3E3"),
        (5, "'#'0", "#5"),
        (5, "EUR 0.00", "EUR 5.00"),
        (5, "0 'o''clock'", "5 o'clock"),
        (1234.5, "#,##0.00:groupsep=.:decsep=,", "1.234,50"),
        (1234567, "#,##0:groupsep= ", "1 234 567"),
        (12345, "#,####", "1,2345"),
        (float("inf"), "0.00", "INF"),
        (float("-inf"), "0.00", "-INF"),
        (float("nan"), "0.00", "NAN"),
        (-5, "0;0 CR", "5 CR"),
    ],
)
def test_writing(value: Any, pattern: str, text: str) -> None:
    assert write(value, pattern) == text


@pytest.mark.parametrize(
    ("text", "pattern", "target", "value"),
    [
        ("1,234,567.89", "#,##0.00", Type.DECIMAL, Decimal("1234567.89")),
        ("1234567.89", "#,##0.00", Type.FLOAT, 1234567.89),
        ("(1,234.50)", "#,##0.00;(#,##0.00)", Type.FLOAT, -1234.5),
        ("-12", "0", Type.INTEGER, -12),
        ("005", "000", Type.INTEGER, 5),
        ("12.9", "0.0", Type.INTEGER, 12),
        ("26%", "0%", Type.DECIMAL, Decimal("0.26")),
        ("1.23E+04", "0.00E+00", Type.FLOAT, 12300.0),
        (".5", "#.##", Type.FLOAT, 0.5),
        ("1.234,50", "#,##0.00:groupsep=.:decsep=,", Type.DECIMAL, Decimal("1234.50")),
        ("5 CR", "0;0 CR", Type.INTEGER, -5),
        (" 5 ", "0", Type.INTEGER, 5),
        ("-INF", "0", Type.FLOAT, float("-inf")),
    ],
)
def test_reading(text: str, pattern: str, target: Type, value: Any) -> None:
    found = read(text, pattern, target)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "pattern", "target"),
    [
        ("1,234", "0", Type.INTEGER),
        ("1.5", "0", Type.DECIMAL),
        ("abc", "0", Type.INTEGER),
        ("", "0", Type.INTEGER),
        ("5", "0%", Type.INTEGER),
        ("5", "0.0E0", Type.FLOAT),
        ("\u0661", "0", Type.INTEGER),
        ("99999999999999999999", "0", Type.INTEGER),
    ],
)
def test_text_that_is_not_as_the_pattern_has_it(text: str, pattern: str, target: Type) -> None:
    with pytest.raises(ConversionError):
        read(text, pattern, target)


@pytest.mark.parametrize("pattern", ["", "abc", "0;0;0", "0.0.0", "0#", "#,", "'0"])
def test_patterns_that_mean_nothing(pattern: str) -> None:
    with pytest.raises(ExpressionError, match="pattern"):
        write(1, pattern)


@pytest.mark.parametrize("pattern", ["0.00", "#,##0.00", "#,##0.00;(#,##0.00)", "0.00:decsep=,", "EUR 0.00", "#.00"])
@given(value=st.decimals(-(10**20), 10**20, places=2))
def test_what_is_written_is_read_back(pattern: str, value: Decimal) -> None:
    assert read(write(value, pattern), pattern, Type.DECIMAL) == value


@given(
    st.integers(-(10**15), 10**15),
    st.sampled_from(["0.##############E0", "##0.##############E+00", "00.#############E0"]),
)
def test_exponents_are_read_back(value: int, pattern: str) -> None:
    assert read(write(value, pattern), pattern, Type.INTEGER) == value


@given(st.text("#0,.;%E'x:-", max_size=10), st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats()))
def test_any_pattern_writes_or_is_refused(pattern: str, value: Any) -> None:
    try:
        assert isinstance(write(value, pattern), str)
    except ExpressionError:
        return
