"""Conversion of values to the types of fields, and calendar patterns of fixed width."""

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from heliograph.flow.formats.model import Type
from heliograph.flow.formats.model.field_values import CLASSES, CONVERSIONS, calendar, integer, shown


@pytest.mark.parametrize(
    ("target", "value", "expected"),
    [
        (Type.STRING, 7, "7"),
        (Type.INTEGER, "12", 12),
        (Type.DECIMAL, 3, Decimal(3)),
        (Type.FLOAT, Decimal("1.5"), 1.5),
        (Type.BOOLEAN, "true", True),
        (Type.BINARY, "00ff", b"\x00\xff"),
        (Type.DATE, "2026-01-31", date(2026, 1, 31)),
        (Type.DATE, datetime(2026, 1, 31, 5), date(2026, 1, 31)),
        (Type.TIME, "23:59:58Z", time(23, 59, 58)),
        (Type.DATETIME, "2026-01-31T23:59:58+01:00", datetime(2026, 1, 31, 23, 59, 58)),
        (Type.DATETIME, date(2026, 1, 31), datetime(2026, 1, 31)),
    ],
)
def test_a_value_of_another_type_is_converted(target: Type, value: Any, expected: Any) -> None:
    result = CONVERSIONS[target](value)
    assert result == expected
    assert type(result) is CLASSES[target] or isinstance(result, CLASSES[target])


@pytest.mark.parametrize(
    ("target", "value", "said"),
    [(Type.INTEGER, "x", r"'x' \(str\)"), (Type.DATE, 5, r"5 \(int\)"), (Type.BOOLEAN, None, "nothing")],
)
def test_a_value_that_cannot_be_converted_is_a_value_error_that_shows_it(target: Type, value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        CONVERSIONS[target](value)


def test_integers_have_64_bits() -> None:
    assert integer("-9223372036854775808") == -(1 << 63)
    with pytest.raises(ValueError, match="9223372036854775808"):
        integer("9223372036854775808")


def test_values_are_shown_with_their_type() -> None:
    assert [shown(None), shown(True)] == ["nothing", "True (bool)"]


@pytest.mark.parametrize(
    ("pattern", "text", "moment"),
    [
        ("yyyyMMdd", "20260131", date(2026, 1, 31)),
        ("yyDDD", "26031", date(2026, 1, 31)),
        ("yyMMdd", "530101", date(1953, 1, 1)),
        ("yyMMdd", "520101", date(2052, 1, 1)),
        ("dd.MM.yyyy", "31.01.2026", date(2026, 1, 31)),
        ("HHmmss", "235958", time(23, 59, 58)),
        ("HH:mm:ss.SSS", "23:59:58.120", time(23, 59, 58, 120000)),
        ("yyyy-MM-dd'T'HH:mm:ss", "2026-01-31T05:06:07", datetime(2026, 1, 31, 5, 6, 7)),
    ],
)
def test_a_calendar_pattern_is_read_and_written(pattern: str, text: str, moment: Any) -> None:
    known = calendar(pattern, type(moment))
    assert known.parse(text) == moment
    assert known.format(moment) == text
    assert (known.width, known.digits) == (len(text), text.isdigit())


@pytest.mark.parametrize("text", ["2026013", "2026013x", "20261301", "20260231", "٢٠٢٦٠١٣١"])
def test_text_that_does_not_fit_a_pattern_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        calendar("yyyyMMdd", date).parse(text)


def test_a_pattern_without_a_fixed_width_is_refused() -> None:
    with pytest.raises(ValueError, match="EEE"):
        calendar("yyyyEEE", date)
