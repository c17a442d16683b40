"""Local and Greenwich time, and intervals."""

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta

import pytest

from heliograph.flow.errors import ConversionError
from heliograph.flow.language.values import times
from heliograph.flow.language.values.times import GmtTime, GmtTimestamp, Interval, Qualifier

SUMMER, WINTER = datetime(2004, 7, 1, 12), datetime(2004, 1, 1, 12)


@pytest.mark.parametrize(("local", "hour"), [(SUMMER, 10), (WINTER, 11)])
def test_timestamps_go_by_the_offset_of_their_date(zone: Callable[[str], None], local: datetime, hour: int) -> None:
    zone("Europe/Berlin")
    gmt = times.to_gmt(local)
    assert gmt == GmtTimestamp(local.replace(hour=hour))
    assert times.to_local(gmt) == local


@pytest.mark.parametrize(("now", "hour"), [(SUMMER, 10), (WINTER, 11), (None, 11)])
def test_a_time_goes_by_the_offset_of_now_or_by_standard_time(
    zone: Callable[[str], None], now: datetime | None, hour: int
) -> None:
    zone("Europe/Berlin")
    assert times.time_to_gmt(time(12), now) == GmtTime(time(hour))
    assert times.time_to_local(GmtTime(time(hour)), now) == time(12)


def test_now_may_have_a_zone_or_be_local(zone: Callable[[str], None]) -> None:
    zone("Europe/Berlin")
    assert times.local_now(SUMMER) == SUMMER
    assert times.local_now(datetime(2004, 7, 1, 10, tzinfo=UTC)) == SUMMER
    assert times.gmt_now(SUMMER) == datetime(2004, 7, 1, 10)


@pytest.mark.parametrize("moment", [datetime.min, datetime.max])
def test_the_ends_of_the_calendar_are_errors(zone: Callable[[str], None], moment: datetime) -> None:
    zone("EST5EDT" if moment is datetime.max else "Europe/Berlin")
    with pytest.raises(ConversionError, match="off the calendar"):
        times.to_gmt(moment)


def test_a_time_is_moved_around_midnight() -> None:
    assert times.shift(time(23, 30), timedelta(hours=1)) == time(0, 30)


@pytest.mark.parametrize(
    ("text", "fields", "amount"),
    [
        ("1-06", "YEAR TO MONTH", 18),
        ("-5", "MONTH", -5),
        ("2 01:30", "DAY TO MINUTE", ((2 * 24 + 1) * 60 + 30) * 60_000_000),
        ("1.5", "SECOND", 1_500_000),
    ],
)
def test_an_interval_and_its_text(text: str, fields: str, amount: int) -> None:
    interval = times.parse(text, Qualifier(fields))
    assert interval == Interval(amount, Qualifier(fields))
    assert interval.text() == text


@pytest.mark.parametrize(("text", "fields"), [("1-12", "YEAR TO MONTH"), ("1:60", "HOUR TO MINUTE"), ("x", "DAY")])
def test_fields_behind_the_first_have_a_limit(text: str, fields: str) -> None:
    with pytest.raises(ValueError, match="is not an interval of"):
        times.parse(text, Qualifier(fields))


@pytest.mark.parametrize(("amount", "whole"), [(90_000_000, 60_000_000), (-90_000_000, -60_000_000)])
def test_what_is_finer_than_the_last_field_is_cut_off_towards_zero(amount: int, whole: int) -> None:
    assert times.of_units(amount, Qualifier("MINUTE")).amount == whole
