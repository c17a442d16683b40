"""One value to another type, as assigning to a variable does it."""

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from heliograph.flow.errors import ConversionError
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.conversions import convert, to_interval
from heliograph.flow.language.values.times import Interval, Qualifier
from heliograph.flow.language.values.types import Type

NOW = datetime(2004, 9, 30, 12, 34, 56)


@pytest.mark.parametrize("target", list(Type))
def test_null_stays_null(target: Type) -> None:
    assert convert(None, target) is None


@pytest.mark.parametrize(
    ("value", "target", "result"),
    [
        (2.9, Type.INTEGER, 2),
        (Decimal("-2.9"), Type.INTEGER, -2),
        (2, Type.FLOAT, 2.0),
        (0.1, Type.DECIMAL, Decimal("0.1")),
        (5, Type.BLOB, bytes(7) + b"\5"),
        (bytes(7) + b"\5", Type.INTEGER, 5),
        (b"\xf0", Type.BIT, Bits("11110000")),
        (Decimal("1.50"), Type.CHARACTER, "1.50"),
        ("1", Type.INTEGER, 1),
        ("FALSE", Type.BOOLEAN, False),
        (date(2004, 9, 30), Type.TIMESTAMP, datetime(2004, 9, 30, 12, 34, 56)),
        (time(1, 2), Type.TIMESTAMP, datetime(2004, 9, 30, 1, 2)),
        (datetime(2004, 9, 30, 1), Type.TIME, time(1)),
    ],
)
def test_a_value_becomes_one_of_the_type(value: Any, target: Type, result: Any) -> None:
    found = convert(value, target, NOW)
    assert found == result
    assert type(found) is type(result)


@pytest.mark.parametrize(
    ("value", "target"),
    [
        (True, Type.INTEGER),
        (1, Type.BOOLEAN),
        (b"\5", Type.INTEGER),
        (Bits("101"), Type.BLOB),
        ("x", Type.INTEGER),
        (float("nan"), Type.INTEGER),
        (Decimal(2**63), Type.INTEGER),
        (1, Type.DATE),
    ],
)
def test_what_cannot_become_of_the_type_is_an_error(value: Any, target: Type) -> None:
    with pytest.raises(ConversionError):
        convert(value, target, NOW)


def test_a_number_and_an_interval_of_one_field_become_each_other() -> None:
    days = to_interval(2, Qualifier("DAY"))
    assert days.text() == "2"
    assert convert(days, Type.INTEGER) == 2
    with pytest.raises(ConversionError):
        convert(Interval(18, Qualifier.YEAR_TO_MONTH), Type.INTEGER)
    with pytest.raises(ConversionError):
        to_interval(2, Qualifier.YEAR_TO_MONTH)
