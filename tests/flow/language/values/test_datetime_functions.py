"""CURRENT_*, LOCAL_TIMEZONE, EXTRACT."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.flow.errors import ExpressionError
from heliograph.flow.language.values.functions import CURRENT, EXTRACT_FIELDS, extract
from heliograph.flow.language.values.literals import to_interval
from heliograph.flow.language.values.times import GmtTime, GmtTimestamp, Interval, Qualifier

NOW = datetime(2026, 7, 1, 23, 30, 15, 500000, tzinfo=UTC)


def test_current_moment_local_and_greenwich(zone: Callable[[str], None]) -> None:
    zone("CET-1CEST,M3.5.0,M10.5.0")
    for now in (NOW, NOW.astimezone(timezone(timedelta(hours=-5))), datetime(2026, 7, 2, 1, 30, 15, 500000)):
        found = {name: function(now) for name, function in CURRENT.items()}
        assert found == {
            "CURRENT_DATE": date(2026, 7, 2),
            "CURRENT_TIME": time(1, 30, 15, 500000),
            "CURRENT_TIMESTAMP": datetime(2026, 7, 2, 1, 30, 15, 500000),
            "CURRENT_GMTDATE": date(2026, 7, 1),
            "CURRENT_GMTTIME": GmtTime(time(23, 30, 15, 500000)),
            "CURRENT_GMTTIMESTAMP": GmtTimestamp(datetime(2026, 7, 1, 23, 30, 15, 500000)),
            "LOCAL_TIMEZONE": to_interval("2:00", Qualifier.HOUR_TO_MINUTE),
        }


@pytest.mark.parametrize(("name", "text"), [("EST5", "-5:00"), ("IST-5:30", "5:30"), ("UTC", "0:00")])
def test_local_timezone(name: str, text: str, zone: Callable[[str], None]) -> None:
    zone(name)
    assert CURRENT["LOCAL_TIMEZONE"](NOW).text() == text


@pytest.mark.parametrize(
    ("field", "value", "result"),
    [
        ("YEAR", date(2000, 2, 29), 2000),
        ("MONTH", date(2000, 2, 29), 2),
        ("DAY", date(2000, 2, 29), 29),
        ("HOUR", time(11, 49, 23), 11),
        ("MINUTE", GmtTime(time(11, 49, 23)), 49),
        ("SECOND", time(11, 49, 23, 500000), 23.5),
        ("SECOND", datetime(2000, 1, 1), 0.0),
        ("HOUR", GmtTimestamp(datetime(2000, 1, 1, 5)), 5),
        ("DAYS", date(2000, 2, 29), 730179),
        ("DAYS", date(1, 1, 1), 1),
        ("DAYOFYEAR", date(2000, 2, 29), 60),
        ("DAYOFWEEK", date(2000, 2, 29), 3),
        ("DAYOFWEEK", date(2000, 2, 27), 1),
        ("DAYOFWEEK", date(2000, 2, 26), 7),
        ("MONTHS", date(1, 1, 1), 0),
        ("MONTHS", date(2000, 2, 29), 23989),
        ("QUARTER", date(2000, 4, 1), 2),
        ("QUARTEROFYEAR", date(2000, 12, 31), 4),
        ("QUARTERS", date(2000, 2, 29), 7996),
        ("WEEKS", date(1, 1, 8), 1),
        ("WEEKOFYEAR", date(2000, 2, 29), 9),
        ("WEEKOFMONTH", date(2000, 2, 29), 5),
        ("WEEKOFMONTH", date(2000, 2, 1), 1),
        ("ISLEAPYEAR", date(2000, 2, 29), True),
        ("ISLEAPYEAR", datetime(1900, 1, 1), False),
        ("YEAR", None, None),
    ],
)
def test_extract(field: str, value: Any, result: Any) -> None:
    found = extract(field, value)
    assert found == result
    assert type(found) is type(result)


@pytest.mark.parametrize(
    ("text", "words", "parts"),
    [
        ("1-06", "YEAR TO MONTH", {"YEAR": 1, "MONTH": 6}),
        ("-2 03:04:05.5", "DAY TO SECOND", {"DAY": -2, "HOUR": -3, "MINUTE": -4, "SECOND": -5.5}),
        ("90", "MINUTE", {"MINUTE": 90}),
    ],
)
def test_extract_from_intervals(text: str, words: str, parts: dict[str, Any]) -> None:
    value = to_interval(text, Qualifier(words))
    for field, result in parts.items():
        assert extract(field, value) == result
    with pytest.raises(ExpressionError):
        extract("WEEKS", value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("DAY", time(1)),
        ("HOUR", date(2000, 1, 1)),
        ("ISLEAPYEAR", GmtTime(time(1))),
        ("YEAR", Interval(1, Qualifier.MONTH)),
        ("CENTURY", date(2000, 1, 1)),
        ("YEAR", "2000-01-01"),
        ("YEAR", 5),
    ],
)
def test_fields_that_are_not_there(field: str, value: Any) -> None:
    with pytest.raises(ExpressionError, match=field):
        extract(field, value)


def test_every_field_is_of_a_timestamp() -> None:
    for field in EXTRACT_FIELDS:
        assert extract(field, datetime(2000, 1, 1)) is not None


@given(st.datetimes())
def test_weeks_and_days_go_together(moment: datetime) -> None:
    assert extract("QUARTERS", moment) == extract("MONTHS", moment) // 3  # type: ignore[operator]
    assert extract("WEEKS", moment) == (extract("DAYS", moment) - 1) // 7  # type: ignore[operator]
    assert extract("DAYOFWEEK", moment) == extract("DAYS", moment) % 7 + 1  # type: ignore[operator]
