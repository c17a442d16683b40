"""FORMAT patterns of datetimes, both ways."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.flow.errors import ConversionError, ExpressionError
from heliograph.flow.language.values.datetime_patterns import read, write
from heliograph.flow.language.values.times import GmtTime, GmtTimestamp
from heliograph.flow.language.values.types import Type, type_of

MOMENT = datetime(2006, 10, 7, 15, 6, 9, 56078)  # a Saturday


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a", "PM"),
        ("d", "7"),
        ("dd", "07"),
        ("D", "280"),
        ("DDD", "280"),
        ("e", "6"),
        ("E", "Sat"),
        ("EEE", "Sat"),
        ("EEEE", "Saturday"),
        ("F", "1"),
        ("G", "AD"),
        ("h", "3"),
        ("hh", "03"),
        ("H", "15"),
        ("HH", "15"),
        ("k", "15"),
        ("K", "3"),
        ("KK", "03"),
        ("m", "6"),
        ("mm", "06"),
        ("M", "10"),
        ("MM", "10"),
        ("MMM", "Oct"),
        ("MMMM", "October"),
        ("s", "9"),
        ("ss", "09"),
        ("S", "0"),
        ("SS", "05"),
        ("SSS", "056"),
        ("SSSSSS", "056078"),
        ("SSSSSSSSS", "056078000"),
        ("w", "40"),
        ("ww", "40"),
        ("W", "2"),
        ("y", "2006"),
        ("yy", "06"),
        ("yyyy", "2006"),
        ("YYYY", "2006"),
        ("yyyy-MM-dd'T'HH:mm:ss", "2006-10-07T15:06:09"),
        ("yyyyMMddHHmmssSSS", "20061007150609056"),
        ("EEE, d MMM yyyy h:mm a", "Sat, 7 Oct 2006 3:06 PM"),
        ("dd.MM.yy 'at' HH 'o''clock'", "07.10.06 at 15 o'clock"),
        ("HH''mm", "15'06"),
        ("", ""),
    ],
)
def test_what_each_symbol_writes(pattern: str, text: str) -> None:
    assert write(MOMENT, pattern) == text


@pytest.mark.parametrize(
    ("hour", "h", "k", "big_k", "half"),
    [
        (0, "12", "24", "0", "AM"),
        (11, "11", "11", "11", "AM"),
        (12, "12", "12", "0", "PM"),
        (23, "11", "23", "11", "PM"),
    ],
)
def test_hours(hour: int, h: str, k: str, big_k: str, half: str) -> None:
    assert write(time(hour), "h,k,K,a") == f"{h},{k},{big_k},{half}"
    assert read(f"{h} {half}", "h a", Type.TIME) == time(hour)
    assert read(f"{big_k} {half.lower()}", "K a", Type.TIME) == time(hour)
    assert read(k, "k", Type.TIME) == time(hour)


@pytest.mark.parametrize(
    ("day", "week", "year"),
    [
        (date(2005, 1, 1), 53, 2004),
        (date(2007, 12, 31), 1, 2008),
        (date(2026, 11, 16), 47, 2026),
    ],
)
def test_weeks_belong_to_their_own_year(day: date, week: int, year: int) -> None:
    assert write(day, "YYYY-ww") == f"{year}-{week:02d}"
    assert read(write(day, "YYYY-ww-e"), "YYYY-ww-e", Type.DATE) == day


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("Z", "+5"),
        ("ZZ", "+05"),
        ("ZZZ", "+05:30"),
        ("ZZZU", "+05:30"),
        ("ZZZZ", "GMT+05:30"),
        ("ZZZZZ", "+0530"),
        ("zzz", "IST"),
        ("I", "2006-10-07T15:06:09.056078+05:30"),
        ("IU", "2006-10-07T15:06:09.056078+05:30"),
        ("T", "15:06:09.056078+05:30"),
    ],
)
def test_zones(pattern: str, text: str, zone: Callable[[str], None]) -> None:
    zone("IST-5:30")
    assert write(MOMENT, pattern) == text
    if pattern not in ("Z", "ZZ"):
        assert (
            read(write(MOMENT, "yyyyMMddHHmmss.SSSSSS " + pattern), "yyyyMMddHHmmss.SSSSSS " + pattern, Type.TIMESTAMP)
            == MOMENT
        )


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("ZZZ", "+00:00"), ("ZZZU", "Z"), ("zzz", "GMT"), ("T", "15:06:09.056078+00:00"), ("TU", "15:06:09.056078Z")],
)
def test_greenwich(pattern: str, text: str, zone: Callable[[str], None]) -> None:
    zone("EST5")
    assert write(GmtTimestamp(MOMENT), pattern) == text
    assert write(GmtTime(MOMENT.time()), pattern) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (date(2006, 10, 7), "2006-10-07"),
        (datetime(2006, 10, 7, 12, 6, 56, 568000), "2006-10-07T12:06:56.568Z"),
        (datetime(2006, 10, 7, 12, 6, 56), "2006-10-07T12:06:56.000Z"),
        (time(12, 6, 56, 568001), "12:06:56.568001Z"),
        (GmtTimestamp(datetime(2006, 10, 7, 12, 6, 56)), "2006-10-07T12:06:56.000Z"),
        (GmtTime(time(12, 6, 56)), "12:06:56.000Z"),
    ],
)
def test_iso_has_what_the_type_has(value: Any, text: str, zone: Callable[[str], None]) -> None:
    zone("UTC")
    assert write(value, "IU") == text
    assert read(text, "I", type_of(value)) == value


def test_the_offset_of_a_time_is_that_of_now(zone: Callable[[str], None]) -> None:
    zone("CET-1CEST,M3.5.0,M10.5.0")
    assert write(time(12), "ZZZ", datetime(2026, 7, 1, tzinfo=UTC)) == "+02:00"
    assert write(time(12), "ZZZ") == "+01:00"
    assert read("12:00Z", "HH:mmZZZ", Type.TIME, datetime(2026, 7, 1, tzinfo=UTC)) == time(14)
    assert read("12:00+01:00", "HH:mmZZZ", Type.GMTTIME) == GmtTime(time(11))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2006-10-07T12:06:56.568+01:00", datetime(2006, 10, 7, 11, 6, 56, 568000)),
        ("2006-10-07T12:06:56Z", datetime(2006, 10, 7, 12, 6, 56)),
        ("2006-10-07T12:06", datetime(2006, 10, 7, 12, 6)),
        ("2006-10-07", datetime(2006, 10, 7)),
        ("2006-10", datetime(2006, 10, 1)),
        ("2006", datetime(2006, 1, 1)),
        ("20061007T120656,5-0230", datetime(2006, 10, 7, 14, 36, 56, 500000)),
        ("20061007", datetime(2006, 10, 7)),
        ("2006-280", datetime(2006, 10, 7)),
        ("2006280T12", datetime(2006, 10, 7, 12)),
        ("2006-W40-6", datetime(2006, 10, 7)),
        ("2006W40", datetime(2006, 10, 2)),
        ("2006-10-07T24:00:00", datetime(2006, 10, 8)),
        ("12:06:56", datetime(1970, 1, 1, 12, 6, 56)),
    ],
)
def test_reading_iso_forms(text: str, moment: datetime, zone: Callable[[str], None]) -> None:
    zone("UTC")
    assert read(text, "I", Type.TIMESTAMP) == moment


@pytest.mark.parametrize("text", ["12:06:56.5+01:00", "T12:06:56.5+01:00", "120656.5+0100"])
def test_reading_iso_times(text: str) -> None:
    assert read(text, "T", Type.GMTTIME) == GmtTime(time(11, 6, 56, 500000))


@pytest.mark.parametrize(
    ("text", "pattern", "target", "value"),
    [
        ("20061007", "yyyyMMdd", Type.DATE, date(2006, 10, 7)),
        ("7.1.2006", "dd.MM.yyyy", Type.DATE, date(2006, 1, 7)),
        (" 7.1.2006 ", "d.M.y", Type.DATE, date(2006, 1, 7)),
        ("52", "yy", Type.DATE, date(2052, 1, 1)),
        ("53", "yy", Type.DATE, date(1953, 1, 1)),
        ("2006 280", "yyyy DDD", Type.DATE, date(2006, 10, 7)),
        ("2006280", "yyyyDDD", Type.DATE, date(2006, 10, 7)),
        ("sat, 07 OCTOBER 2006", "EEE, dd MMMM yyyy", Type.DATE, date(2006, 10, 7)),
        ("2006-10 2nd Sat", "yyyy-MM F'nd' EEE", Type.DATE, date(2006, 10, 14)),
        ("2006-10 W2 6", "yyyy-MM 'W'W e", Type.DATE, date(2006, 10, 7)),
        ("2006 AD", "yyyy G", Type.DATE, date(2006, 1, 1)),
        ("150609", "HHmmss", Type.TIME, time(15, 6, 9)),
        ("15:06:09.5", "HH:mm:ss.SSS", Type.TIME, time(15, 6, 9, 500000)),
        ("1506", "Hmm", Type.TIME, time(15, 6)),
        ("906", "Hmm", Type.TIME, time(9, 6)),
        ("24:00", "HH:mm", Type.TIMESTAMP, datetime(1970, 1, 2)),
        ("12:00 GMT-1", "HH:mm z", Type.GMTTIME, GmtTime(time(13))),
        ("12:00 UTC", "HH:mm z", Type.GMTTIME, GmtTime(time(12))),
        (
            "2006-10-07 12:00 +0100",
            "yyyy-MM-dd HH:mm ZZZZZ",
            Type.GMTTIMESTAMP,
            GmtTimestamp(datetime(2006, 10, 7, 11)),
        ),
        ("2006-10-07 00:30 +01:00", "yyyy-MM-dd HH:mm ZZZ", Type.DATE, date(2006, 10, 7)),
    ],
)
def test_reading(text: str, pattern: str, target: Type, value: Any) -> None:
    assert read(text, pattern, target) == value


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("2006-10-07", "dd.MM.yyyy"),
        ("31.02.2006", "dd.MM.yyyy"),
        ("07.13.2006", "dd.MM.yyyy"),
        ("07.10.2006x", "dd.MM.yyyy"),
        ("Sun 07.10.2006", "EEE dd.MM.yyyy"),
        ("2006 366", "yyyy DDD"),
        ("2006-10 5 Sat", "yyyy-MM F EEE"),
        ("25", "HH"),
        ("24:01", "HH:mm"),
        ("13 PM", "h a"),
        ("44 BC", "y G"),
        ("12 XYZ", "HH z"),
        ("", "yyyy"),
        ("0000", "yyyy"),
        ("9999-12-31T24:00:00", "I"),
        ("12:00+99:00", "HH:mmZZZ"),
    ],
)
def test_text_that_is_not_as_the_pattern_has_it(text: str, pattern: str) -> None:
    with pytest.raises(ConversionError) as caught:
        read(text, pattern, Type.TIMESTAMP)
    assert pattern in str(caught.value)


@pytest.mark.parametrize("pattern", ["yyyy-QQ", "'open", "U", "II", "dU"])
def test_patterns_that_mean_nothing(pattern: str) -> None:
    with pytest.raises(ExpressionError, match="pattern"):
        write(MOMENT, pattern)


@pytest.mark.parametrize(
    "pattern",
    ["yyyy-MM-dd HH:mm:ss.SSSSSS", "yyyyMMddHHmmssSSSSSS", "yyyyDDDHHmmssSSSSSS", "d MMM yyyy hh:mm:ss.SSSSSS a", "IU"],
)
@given(moment=st.datetimes(datetime(1000, 1, 1)))
def test_what_is_written_is_read_back(pattern: str, moment: datetime) -> None:
    value = GmtTimestamp(moment)
    assert read(write(value, pattern), pattern, Type.GMTTIMESTAMP) == value


@given(st.text("adDeEFGhHIkKmMsSTUwWyYzZ':-. ", max_size=12), st.datetimes())
def test_any_pattern_writes_or_is_refused(pattern: str, moment: datetime) -> None:
    try:
        text = write(GmtTimestamp(moment), pattern)
    except ExpressionError:
        return
    try:
        read(text, pattern, Type.GMTTIMESTAMP)
    except ConversionError:
        return


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    for pattern in ("I", "T", "yyyyMMdd", "z"):
        try:
            read(text, pattern, Type.TIMESTAMP)
        except ConversionError:
            continue
