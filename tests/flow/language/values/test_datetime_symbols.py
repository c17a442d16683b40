"""Fields that a pattern read, and the moment that they say."""

from datetime import date, datetime, timedelta

import pytest

from heliograph.flow.language.values import datetime_symbols
from heliograph.flow.language.values.datetime_symbols import moment_of


@pytest.mark.parametrize(
    ("fields", "moment"),
    [
        ({}, datetime(1970, 1, 1)),
        ({"year": 2004, "month": 2, "day": 29}, datetime(2004, 2, 29)),
        ({"year": 2004, "yearday": 60}, datetime(2004, 2, 29)),
        ({"week_year": 2004, "week": 1, "weekday": 1}, datetime(2003, 12, 29)),
        ({"year": 2004, "month": 9, "nth": 2, "weekday": 1}, datetime(2004, 9, 13)),
        ({"hour12": 0, "pm": 1}, datetime(1970, 1, 1, 12)),
        ({"hour": 24}, datetime(1970, 1, 2)),
        ({"minute": 5, "second": 6, "micro": 7}, datetime(1970, 1, 1, 0, 5, 6, 7)),
    ],
)
def test_fields_say_a_moment(fields: dict[str, int], moment: datetime) -> None:
    assert moment_of(fields) == moment


@pytest.mark.parametrize(
    "fields",
    [
        {"year": 2003, "month": 2, "day": 29},
        {"year": 2003, "yearday": 366},
        {"hour": 24, "minute": 1},
        {"year": 2004, "month": 9, "day": 30, "weekday": 1},
        {"year": 2004, "month": 2, "nth": 5, "weekday": 1},
    ],
)
def test_fields_that_contradict_the_calendar_or_one_another_are_refused(fields: dict[str, int]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        moment_of(fields)


@pytest.mark.parametrize(("number", "year"), [(0, 2000), (52, 2052), (53, 1953), (99, 1999)])
def test_two_digits_are_of_the_century_that_they_are_near_to(number: int, year: int) -> None:
    assert datetime_symbols.year_of_two_digits(number) == year


@pytest.mark.parametrize(("day", "week"), [(1, 1), (5, 1), (6, 2), (30, 5)])
def test_weeks_of_a_month_begin_on_monday(day: int, week: int) -> None:
    assert datetime_symbols.week_of_month(date(2004, 9, day)) == week


@pytest.mark.parametrize("minutes", [-570, -60, 0, 60, 330])
@pytest.mark.parametrize("count", [3, 4, 5])
def test_an_offset_is_read_as_it_is_written(minutes: int, count: int) -> None:
    text = datetime_symbols.offset_text(timedelta(minutes=minutes), count, zulu=False)
    assert datetime_symbols.offset_minutes(text) == minutes


def test_greenwich_may_be_one_letter() -> None:
    assert datetime_symbols.offset_text(timedelta(0), 3, zulu=True) == "Z"
