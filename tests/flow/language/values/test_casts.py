"""CAST: which types go to which, its clauses, several sources."""

import itertools
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.flow.errors import ConversionError
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.casts import cast
from heliograph.flow.language.values.conversions import convert
from heliograph.flow.language.values.times import GmtTime, GmtTimestamp, Interval, Qualifier
from heliograph.flow.language.values.types import Type, type_of

NOW = datetime(2026, 11, 16, 7, 8, 9, tzinfo=UTC)
INTEGER_BYTES = bytes(7) + b"\5"

SAMPLES: dict[Type, Any] = {
    Type.BOOLEAN: True,
    Type.INTEGER: 5,
    Type.FLOAT: 5.75,
    Type.DECIMAL: Decimal("5.75"),
    Type.BLOB: INTEGER_BYTES,
    Type.BIT: Bits.from_bytes(INTEGER_BYTES),
    Type.DATE: date(2000, 3, 29),
    Type.TIME: time(11, 49, 23),
    Type.TIMESTAMP: datetime(2000, 3, 29, 11, 49, 23),
    Type.GMTTIME: GmtTime(time(11, 49, 23)),
    Type.GMTTIMESTAMP: GmtTimestamp(datetime(2000, 3, 29, 11, 49, 23)),
    Type.INTERVAL: Interval(5, Qualifier.MONTH),
}
# What each becomes, TZ being UTC; what is not here cannot be. CHARACTER is tested by itself.
RESULTS: dict[tuple[Type, Type], Any] = {
    (Type.INTEGER, Type.FLOAT): 5.0,
    (Type.INTEGER, Type.DECIMAL): Decimal(5),
    (Type.INTEGER, Type.BLOB): INTEGER_BYTES,
    (Type.INTEGER, Type.BIT): Bits.from_bytes(INTEGER_BYTES),
    (Type.FLOAT, Type.INTEGER): 5,
    (Type.FLOAT, Type.DECIMAL): Decimal("5.75"),
    (Type.DECIMAL, Type.INTEGER): 5,
    (Type.DECIMAL, Type.FLOAT): 5.75,
    (Type.BLOB, Type.INTEGER): 5,
    (Type.BLOB, Type.BIT): Bits.from_bytes(INTEGER_BYTES),
    (Type.BIT, Type.INTEGER): 5,
    (Type.BIT, Type.BLOB): INTEGER_BYTES,
    (Type.INTERVAL, Type.INTEGER): 5,
    (Type.INTERVAL, Type.FLOAT): 5.0,
    (Type.INTERVAL, Type.DECIMAL): Decimal(5),
    (Type.DATE, Type.TIMESTAMP): datetime(2000, 3, 29, 7, 8, 9),
    (Type.DATE, Type.GMTTIMESTAMP): GmtTimestamp(datetime(2000, 3, 29, 7, 8, 9)),
    (Type.TIME, Type.TIMESTAMP): datetime(2026, 11, 16, 11, 49, 23),
    (Type.TIME, Type.GMTTIME): GmtTime(time(11, 49, 23)),
    (Type.TIME, Type.GMTTIMESTAMP): GmtTimestamp(datetime(2026, 11, 16, 11, 49, 23)),
    (Type.GMTTIME, Type.TIME): time(11, 49, 23),
    (Type.GMTTIME, Type.TIMESTAMP): datetime(2026, 11, 16, 11, 49, 23),
    (Type.GMTTIME, Type.GMTTIMESTAMP): GmtTimestamp(datetime(2026, 11, 16, 11, 49, 23)),
    (Type.TIMESTAMP, Type.DATE): date(2000, 3, 29),
    (Type.TIMESTAMP, Type.TIME): time(11, 49, 23),
    (Type.TIMESTAMP, Type.GMTTIME): GmtTime(time(11, 49, 23)),
    (Type.TIMESTAMP, Type.GMTTIMESTAMP): GmtTimestamp(datetime(2000, 3, 29, 11, 49, 23)),
    (Type.GMTTIMESTAMP, Type.DATE): date(2000, 3, 29),
    (Type.GMTTIMESTAMP, Type.TIME): time(11, 49, 23),
    (Type.GMTTIMESTAMP, Type.GMTTIME): GmtTime(time(11, 49, 23)),
    (Type.GMTTIMESTAMP, Type.TIMESTAMP): datetime(2000, 3, 29, 11, 49, 23),
}
PAIRS = list(itertools.product(SAMPLES, SAMPLES))


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=[f"{one}-{other}" for one, other in PAIRS])
def test_every_pair_of_types(source: Type, target: Type, zone: Callable[[str], None]) -> None:
    zone("UTC")
    value = SAMPLES[source]
    if source is target or (source, target) in RESULTS:
        expected = value if source is target else RESULTS[source, target]
        for found in (cast([value], target, now=NOW), convert(value, target, NOW)):
            assert found == expected
            assert type_of(found) is target
    else:
        with pytest.raises(ConversionError, match=f"{source}.*{target}"):
            cast([value], target, now=NOW)
        assert cast([value], target, default=None, now=NOW) is None


@pytest.mark.parametrize("target", [kind for kind in Type if kind is not Type.NULL])
def test_null_stays_null_whatever_the_default(target: Type) -> None:
    assert cast([None], target) is None
    assert cast([None], target, default="1") is None
    assert convert(None, target) is None


@pytest.mark.parametrize("kind", SAMPLES, ids=str)
def test_character_and_back(kind: Type) -> None:
    text = cast([SAMPLES[kind]], Type.CHARACTER)
    assert type(text) is str
    assert cast([text], kind) == SAMPLES[kind]


@pytest.mark.parametrize("kind", [kind for kind in SAMPLES if kind is not Type.INTERVAL])
def test_failure_raises_or_gives_the_default(kind: Type) -> None:
    with pytest.raises(ConversionError):
        cast(["nonsense"], kind)
    assert cast(["nonsense"], kind, default=SAMPLES[kind]) == SAMPLES[kind]
    assert cast(["nonsense"], kind, default=None) is None


def test_the_default_becomes_the_target_type() -> None:
    assert cast(["nonsense"], Type.INTEGER, default="7") == 7
    with pytest.raises(ConversionError):
        cast(["nonsense"], Type.INTEGER, default="x")


@pytest.mark.parametrize(("number", "whole"), [(2.9, 2), (-2.9, -2), (Decimal("2.999"), 2), (Decimal("-2.5"), -2)])
def test_integer_is_cut_not_rounded(number: Any, whole: int) -> None:
    assert cast([number], Type.INTEGER) == whole


@pytest.mark.parametrize("number", [1e19, float("nan"), float("-inf"), Decimal("1E+19"), Decimal("NaN")], ids=repr)
def test_numbers_that_no_integer_holds(number: Any) -> None:
    with pytest.raises(ConversionError):
        cast([number], Type.INTEGER)


def test_float_becomes_decimal_by_15_digits() -> None:
    assert cast([0.1 + 0.2], Type.DECIMAL) == Decimal("0.3")
    assert cast([float("inf")], Type.DECIMAL) == Decimal("Infinity")


@pytest.mark.parametrize(
    ("value", "precision", "scale", "text"),
    [
        ("1.005", 10, 2, "1.00"),
        ("1.015", 10, 2, "1.02"),
        ("1.5", 10, 4, "1.5000"),
        ("-2.5", 5, 0, "-2"),
        (12, 4, 2, "12.00"),
        (1.25, 3, 1, "1.2"),
        ("999.99", 5, 2, "999.99"),
        ("0.004", 2, 2, "0.00"),
        ("NAN", 5, 2, "NAN"),
    ],
)
def test_decimal_with_precision_and_scale(value: Any, precision: int, scale: int, text: str) -> None:
    result = cast([value], Type.DECIMAL, precision=precision, scale=scale)
    assert cast([result], Type.CHARACTER) == text


def test_decimal_beyond_its_precision() -> None:
    with pytest.raises(ConversionError, match=r"DECIMAL\(4, 2\)"):
        cast(["100"], Type.DECIMAL, precision=4, scale=2)
    assert cast(["100"], Type.DECIMAL, precision=4, scale=2, default="0") == 0


@pytest.mark.parametrize("data", [b"", b"\1", bytes(9)], ids=len)
def test_integer_needs_eight_bytes(data: bytes) -> None:
    with pytest.raises(ConversionError, match="8 bytes"):
        cast([data], Type.INTEGER)
    with pytest.raises(ConversionError, match="64 bits"):
        cast([Bits.from_bytes(data)], Type.INTEGER)


def test_blob_needs_whole_bytes_of_bits() -> None:
    with pytest.raises(ConversionError, match="whole bytes"):
        cast([Bits("0101")], Type.BLOB)


def test_integers_by_encoding() -> None:
    assert cast([1], Type.BLOB, encoding=0x222) == b"\1" + bytes(7)
    assert cast([1], Type.BLOB, encoding=0x111) == bytes(7) + b"\1"
    assert cast([b"\xfe" + b"\xff" * 7], Type.INTEGER, encoding=546) == -2
    assert cast([Bits.from_bytes(b"\2" + bytes(7))], Type.INTEGER, encoding=2) == 2
    assert cast([3], Type.BIT, encoding=2) == Bits.from_bytes(b"\3" + bytes(7))


@pytest.mark.parametrize(
    ("value", "target", "ccsid", "result"),
    [
        (b"\xc1\xf1", Type.CHARACTER, 500, "A1"),
        ("A1", Type.BLOB, 500, b"\xc1\xf1"),
        ("é", Type.BLOB, 1208, b"\xc3\xa9"),
        ("A", Type.BIT, 819, Bits("01000001")),
        (Bits("01000001"), Type.CHARACTER, 819, "A"),
        ("A1", Type.CHARACTER, 500, "A1"),
        (b"\1", Type.BLOB, 500, b"\1"),
        ("12", Type.INTEGER, 500, 12),
    ],
)
def test_ccsid(value: Any, target: Type, ccsid: int, result: Any) -> None:
    assert cast([value], target, ccsid=ccsid) == result


def test_ccsid_failures_may_have_a_default() -> None:
    with pytest.raises(ConversionError):
        cast([b"\xff"], Type.CHARACTER, ccsid=1208)
    assert cast([b"\xff"], Type.CHARACTER, ccsid=1208, default="?") == "?"
    with pytest.raises(ConversionError, match="12345"):
        cast([b"a"], Type.CHARACTER, ccsid=12345)


def test_encoding_alone_means_utf_8() -> None:
    assert cast([b"\xc3\xa9"], Type.CHARACTER, encoding=0x111) == "é"
    assert cast(["A"], Type.BLOB, ccsid=1200, encoding=0x222) == b"A\0"


def test_format_between_strings_and_numbers_or_datetimes() -> None:
    assert cast([1234.5], Type.CHARACTER, format="#,##0.00") == "1,234.50"
    assert cast(["1,234.50"], Type.FLOAT, format="#,##0.00") == 1234.5
    assert cast(["1,234"], Type.INTEGER, format="#,##0") == 1234
    assert cast([12], Type.BLOB, format="000", ccsid=500) == b"\xf0\xf1\xf2"
    assert cast([b"\xf0\xf1\xf2"], Type.INTEGER, format="000", ccsid=500) == 12
    assert cast([date(2000, 3, 29)], Type.CHARACTER, format="dd.MM.yyyy") == "29.03.2000"
    assert cast(["29.03.2000"], Type.DATE, format="dd.MM.yyyy") == date(2000, 3, 29)
    assert cast(["x"], Type.DATE, format="dd.MM.yyyy", default=None) is None


def test_format_means_nothing_to_other_casts() -> None:
    assert cast([5.5], Type.INTEGER, format="#") == 5
    assert cast([True], Type.CHARACTER, format="#") == "TRUE"


def test_decimal_by_format_is_fitted_too() -> None:
    assert str(cast(["1,234.567"], Type.DECIMAL, format="#,##0.000", precision=6, scale=1)) == "1234.6"


@pytest.mark.parametrize(
    ("values", "target", "result"),
    [
        ([2000, 3, 29], Type.DATE, date(2000, 3, 29)),
        ([11, 49, 23], Type.TIME, time(11, 49, 23)),
        ([11, 49, 23.656], Type.TIME, time(11, 49, 23, 656000)),
        ([11, 49, Decimal("23.000001")], Type.GMTTIME, GmtTime(time(11, 49, 23, 1))),
        ([date(2000, 3, 29), time(11)], Type.TIMESTAMP, datetime(2000, 3, 29, 11)),
        ([date(2000, 3, 29), GmtTime(time(11))], Type.GMTTIMESTAMP, GmtTimestamp(datetime(2000, 3, 29, 11))),
        ([2000, 3, 29, 11, 49, 23.5], Type.TIMESTAMP, datetime(2000, 3, 29, 11, 49, 23, 500000)),
        ([2000, 3, 29, 11, 49, 23], Type.GMTTIMESTAMP, GmtTimestamp(datetime(2000, 3, 29, 11, 49, 23))),
        ([2000, None, 29], Type.DATE, None),
    ],
)
def test_many_to_one(values: list[Any], target: Type, result: Any) -> None:
    assert cast(values, target) == result


def test_date_and_time_of_two_zones(zone: Callable[[str], None]) -> None:
    zone("EST5")
    assert cast([date(2000, 1, 1), time(20)], Type.GMTTIMESTAMP) == GmtTimestamp(datetime(2000, 1, 2, 1))
    assert cast([date(2000, 1, 2), GmtTime(time(1))], Type.TIMESTAMP) == datetime(2000, 1, 1, 20)


@pytest.mark.parametrize(
    ("values", "target"),
    [
        ([2000, 2, 30], Type.DATE),
        ([25, 0, 0], Type.TIME),
        ([11, 49, float("nan")], Type.TIME),
        (["2000", "3", "29"], Type.DATE),
        ([2000, 3], Type.DATE),
        ([time(1), date(2000, 1, 1)], Type.TIMESTAMP),
        ([1, 2], Type.CHARACTER),
        ([1, 2], Type.INTERVAL),
    ],
)
def test_many_to_one_failures(values: list[Any], target: Type) -> None:
    with pytest.raises(ConversionError):
        cast(values, target)
    assert cast(values, target, default=None) is None


@pytest.mark.parametrize(
    ("values", "words", "text"),
    [
        ([65], "YEAR", "65"),
        (["65"], "YEAR", "65"),
        ([2.5], "SECOND", "2.5"),
        ([2.3], "SECOND", "2.3"),
        ([Decimal("1.9")], "DAY", "1"),
        ([1, 6], "YEAR TO MONTH", "1-06"),
        ([1, 2, 3, 4.5], "DAY TO SECOND", "1 02:03:04.5"),
        ([Interval(18, Qualifier.YEAR_TO_MONTH)], "YEAR", "1"),
        (["INTERVAL '36' HOUR"], "DAY TO HOUR", "1 12"),
    ],
)
def test_cast_to_interval(values: list[Any], words: str, text: str) -> None:
    found = cast(values, Type.INTERVAL, qualifier=Qualifier(words))
    assert found.qualifier == words
    assert found.text() == text


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1], "YEAR TO MONTH"),
        ([float("inf")], "DAY"),
        ([1, float("inf")], "YEAR TO MONTH"),
        ([Interval(1, Qualifier.MONTH)], "DAY"),
        ([True], "DAY"),
        (["x"], "DAY"),
    ],
)
def test_cast_to_interval_failures(values: list[Any], words: str) -> None:
    with pytest.raises(ConversionError):
        cast(values, Type.INTERVAL, qualifier=Qualifier(words))


def test_interval_of_several_fields_is_no_number() -> None:
    with pytest.raises(ConversionError, match="more fields"):
        cast([Interval(18, Qualifier.YEAR_TO_MONTH)], Type.INTEGER)


def test_assigning_to_an_interval_needs_a_whole_literal() -> None:
    assert convert("INTERVAL '5' DAY", Type.INTERVAL).text() == "5"
    for value in ("5", 5):
        with pytest.raises(ConversionError):
            convert(value, Type.INTERVAL)


def test_what_the_current_time_is_needed_for() -> None:
    with pytest.raises(ConversionError, match="current time"):
        convert(date(2000, 1, 1), Type.TIMESTAMP)


def test_local_and_greenwich(zone: Callable[[str], None]) -> None:
    zone("CET-1CEST,M3.5.0,M10.5.0")
    summer, winter = datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    assert convert(datetime(2000, 7, 1, 12), Type.GMTTIMESTAMP) == GmtTimestamp(datetime(2000, 7, 1, 10))
    assert convert(GmtTimestamp(datetime(2000, 1, 1, 23, 30)), Type.DATE) == date(2000, 1, 2)
    assert convert(time(1), Type.GMTTIME, summer) == GmtTime(time(23))
    assert convert(time(1), Type.GMTTIME, winter) == GmtTime(time(0))
    assert convert(time(1), Type.GMTTIME) == GmtTime(time(0))
    assert convert(GmtTime(time(23)), Type.TIME, summer) == time(1)
    assert convert(GmtTime(time(23)), Type.TIMESTAMP, summer) == datetime(2026, 7, 2, 1)


def test_the_ends_of_the_calendar(zone: Callable[[str], None]) -> None:
    zone("EST5")
    with pytest.raises(ConversionError, match="off the calendar"):
        convert(datetime(9999, 12, 31, 23), Type.GMTTIMESTAMP)
    with pytest.raises(ConversionError, match="off the calendar"):
        convert(GmtTimestamp(datetime(1, 1, 1)), Type.TIMESTAMP)


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from([None, 0x111, 0x222]))
def test_integers_survive_bytes(number: int, encoding: int | None) -> None:
    for target in (Type.BLOB, Type.BIT):
        assert cast([cast([number], target, encoding=encoding)], Type.INTEGER, encoding=encoding) == number


@given(st.text(), st.sampled_from([1208, 1200]), st.sampled_from([0x111, 0x222]))
def test_text_survives_character_sets(text: str, ccsid: int, encoding: int) -> None:
    text = text.encode("utf-8", "ignore").decode()
    data = cast([text], Type.BLOB, ccsid=ccsid, encoding=encoding)
    assert cast([data], Type.CHARACTER, ccsid=ccsid, encoding=encoding) == text
