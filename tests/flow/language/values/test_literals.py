"""Values written as text: what can be read, and what is refused."""

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from heliograph.flow.errors import ConversionError
from heliograph.flow.language.values import literals
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.times import GmtTime, GmtTimestamp, Interval, Qualifier


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (literals.to_integer, " 12 ", 12),
        (literals.to_integer, "-9223372036854775808", -(2**63)),
        (literals.to_float, "1E3", 1000.0),
        (literals.to_decimal, "1.50", Decimal("1.50")),
        (literals.to_boolean, "true", True),
        (literals.to_boolean, "UNKNOWN", None),
        (literals.to_blob, "0aFF", b"\x0a\xff"),
        (literals.to_bits, "0101", Bits("0101")),
        (literals.to_date, "2004-02-29", date(2004, 2, 29)),
        (literals.to_time, "12:34:56.789", time(12, 34, 56, 789000)),
        (literals.to_gmttime, "12:34:56", GmtTime(time(12, 34, 56))),
        (literals.to_timestamp, "2004-02-29 12:34:56", datetime(2004, 2, 29, 12, 34, 56)),
        (literals.to_gmttimestamp, "2004-02-29 12:34:56", GmtTimestamp(datetime(2004, 2, 29, 12, 34, 56))),
    ],
)
def test_a_text_is_a_value(read: Callable[[str], Any], text: str, value: Any) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (literals.to_integer, "1.5"),
        (literals.to_integer, "9223372036854775808"),
        (literals.to_float, "one"),
        (literals.to_decimal, "1,5"),
        (literals.to_boolean, "yes"),
        (literals.to_blob, "0a0"),
        (literals.to_bits, "012"),
        (literals.to_date, "2003-02-29"),
        (literals.to_time, "24:00:00"),
        (literals.to_timestamp, "2004-02-29"),
    ],
)
def test_a_text_that_is_no_such_value_is_refused_with_the_text(read: Callable[[str], Any], text: str) -> None:
    with pytest.raises(ConversionError) as caught:
        read(text)
    assert text in str(caught.value)


def test_an_interval_literal_has_its_fields_in_it_or_from_outside() -> None:
    assert literals.to_interval("INTERVAL '1-06' YEAR TO MONTH") == Interval(18, Qualifier.YEAR_TO_MONTH)
    assert literals.to_interval("90", Qualifier("MINUTE")) == Interval(90 * 60_000_000, Qualifier("MINUTE"))


def test_an_interval_is_cut_to_coarser_fields_of_its_family() -> None:
    assert literals.recut(Interval(18, Qualifier.YEAR_TO_MONTH), Qualifier.YEAR) == Interval(12, Qualifier.YEAR)
    with pytest.raises(ValueError):  # noqa: PT011
        literals.recut(Interval(18, Qualifier.YEAR_TO_MONTH), Qualifier.DAY)
