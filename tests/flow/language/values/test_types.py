"""The text form of values, and reading it back."""

import math
import pickle
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.flow.errors import (
    NOT_A_DECIMAL,
    NOT_A_FLOAT,
    NOT_AN_INTEGER,
    ConversionError,
    EsqlError,
    ExpressionError,
)
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.conversions import convert
from heliograph.flow.language.values.literals import (
    to_bits,
    to_blob,
    to_boolean,
    to_date,
    to_decimal,
    to_float,
    to_gmttime,
    to_gmttimestamp,
    to_integer,
    to_interval,
    to_time,
    to_timestamp,
)
from heliograph.flow.language.values.times import GmtTime, GmtTimestamp, Interval, Qualifier, of_units
from heliograph.flow.language.values.types import Type, character, type_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (44.72, "4.472E+1"),
        (95.984, "9.5984E+1"),
        (27.95 * 1.6, "4.472E+1"),
        (0.0, "0E+0"),
        (-0.0, "0E+0"),
        (1.0, "1E+0"),
        (-1.0, "-1E+0"),
        (100.0, "1E+2"),
        (120.0, "1.2E+2"),
        (0.5, "5E-1"),
        (0.001234, "1.234E-3"),
        (1e10, "1E+10"),
        (-2.5e-100, "-2.5E-100"),
        (1.7976931348623157e308, "1.79769313486232E+308"),
        (5e-324, "4.94065645841247E-324"),
        (0.1 + 0.2, "3E-1"),
        (1 / 3, "3.33333333333333E-1"),
        (0.9999999999999999, "1E+0"),
        (float("inf"), "INF"),
        (float("-inf"), "-INF"),
        (float("nan"), "NAN"),
        (5, "5"),
        (-5, "-5"),
        ("text", "text"),
        (True, "TRUE"),
        (False, "FALSE"),
        (Decimal("1.50"), "1.50"),
        (Decimal(-12), "-12"),
        (Decimal("Infinity"), "INF"),
        (Decimal("-Infinity"), "-INF"),
        (Decimal("NaN"), "NAN"),
        (b"\x0a\xff", "X'0aff'"),
        (b"", "X''"),
        (Bits("0101"), "B'0101'"),
        (date(2000, 3, 29), "DATE '2000-03-29'"),
        (time(11, 49, 23), "TIME '11:49:23'"),
        (time(11, 49, 23, 656000), "TIME '11:49:23.656'"),
        (time(11, 49, 23, 656001), "TIME '11:49:23.656001'"),
        (datetime(2000, 3, 29, 1, 2, 3), "TIMESTAMP '2000-03-29 01:02:03'"),
        (GmtTime(time(1, 2, 3)), "GMTTIME '01:02:03'"),
        (GmtTimestamp(datetime(2000, 3, 29, 1, 2, 3, 460000)), "GMTTIMESTAMP '2000-03-29 01:02:03.460'"),
        (Interval(18, Qualifier.YEAR_TO_MONTH), "INTERVAL '1-06' YEAR TO MONTH"),
    ],
)
def test_text_form(value: Any, text: str) -> None:
    assert character(value) == text


def test_null_and_what_is_no_value_have_no_text_form() -> None:
    with pytest.raises(ValueError, match="NULL"):
        character(None)
    with pytest.raises(ExpressionError):
        character([1])


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (to_integer, "12", 12),
        (to_integer, "  -12 ", -12),
        (to_integer, "+9223372036854775807", 2**63 - 1),
        (to_integer, "000000000000000000000000000000000000000000000012", 12),
        (to_float, "1.5", 1.5),
        (to_float, " -1.5e3 ", -1500.0),
        (to_float, "INF", math.inf),
        (to_float, "-inf", -math.inf),
        (to_decimal, "1.50", Decimal("1.50")),
        (to_decimal, " .5E+2 ", Decimal(50)),
        (to_decimal, "-INF", Decimal("-Infinity")),
        (to_decimal, "12345678901234567890123456789012345", Decimal("1.234567890123456789012345678901234E+34")),
        (to_boolean, "true", True),
        (to_boolean, " FALSE ", False),
        (to_boolean, "Unknown", None),
        (to_blob, "0aFF", b"\x0a\xff"),
        (to_blob, "X'0aFF'", b"\x0a\xff"),
        (to_blob, "", b""),
        (to_bits, "B'01'", Bits("01")),
        (to_bits, "01", Bits("01")),
        (to_date, "2000-03-29", date(2000, 3, 29)),
        (to_date, " date '2000-3-9' ", date(2000, 3, 9)),
        (to_time, "11:49:23.6", time(11, 49, 23, 600000)),
        (to_time, "TIME'11:49:23.1234567'", time(11, 49, 23, 123456)),
        (to_gmttime, "11:49:23", GmtTime(time(11, 49, 23))),
        (to_timestamp, "2000-03-29 11:49:23", datetime(2000, 3, 29, 11, 49, 23)),
        (to_timestamp, "2000-03-29T11:49:23", datetime(2000, 3, 29, 11, 49, 23)),
        (
            to_gmttimestamp,
            "GMTTIMESTAMP '2000-03-29 11:49:23.5'",
            GmtTimestamp(datetime(2000, 3, 29, 11, 49, 23, 500000)),
        ),
        (to_interval, "INTERVAL '1-06' year  to month", Interval(18, Qualifier.YEAR_TO_MONTH)),
    ],
)
def test_reading_text(read: Any, text: str, value: Any) -> None:
    found = read(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("read", "text", "number"),
    [
        (to_integer, "", NOT_AN_INTEGER),
        (to_integer, "12.0", NOT_AN_INTEGER),
        (to_integer, "1e3", NOT_AN_INTEGER),
        (to_integer, "0x10", NOT_AN_INTEGER),
        (to_integer, "1_000", NOT_AN_INTEGER),
        (to_integer, "\u0661\u0662", NOT_AN_INTEGER),
        (to_integer, "9223372036854775808", NOT_AN_INTEGER),
        (to_integer, "9" * 5000, NOT_AN_INTEGER),
        (to_float, "", NOT_A_FLOAT),
        (to_float, "abc", NOT_A_FLOAT),
        (to_float, "1_0.5", NOT_A_FLOAT),
        (to_float, "\u0661", NOT_A_FLOAT),
        (to_float, "1e999", NOT_A_FLOAT),
        (to_decimal, "1,5", NOT_A_DECIMAL),
        (to_decimal, "sNaN", NOT_A_DECIMAL),
        (to_decimal, "1E+9999", NOT_A_DECIMAL),
        (to_decimal, "", NOT_A_DECIMAL),
        (to_boolean, "yes", None),
        (to_boolean, "1", None),
        (to_blob, "0a0", None),
        (to_blob, "B'01'", None),
        (to_bits, "012", None),
        (to_date, "2000-02-30", None),
        (to_date, "29.03.2000", None),
        (to_date, "TIME '11:49:23'", None),
        (to_time, "25:00:00", None),
        (to_time, "11:49", None),
        (to_timestamp, "2000-03-29", None),
        (to_timestamp, "2000-13-29 11:49:23", None),
        (to_interval, "1-06", None),
        (to_interval, "INTERVAL '1-12' YEAR TO MONTH", None),
        (to_interval, "INTERVAL '1' WEEK", None),
    ],
)
def test_text_that_is_no_such_value(read: Any, text: str, number: int | None) -> None:
    with pytest.raises(ConversionError) as caught:
        read(text)
    if number is not None:
        assert caught.value.number == number
    assert caught.value.inserts[0] == text


def test_long_text_is_shown_short() -> None:
    with pytest.raises(ConversionError) as caught:
        to_float("x" * 10_000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("words", "text", "amount"),
    [
        ("YEAR", "65", 780),
        ("YEAR TO MONTH", "1-06", 18),
        ("MONTH", "100", 100),
        ("DAY", "3", 259_200_000_000),
        ("DAY TO HOUR", "2 01", 176_400_000_000),
        ("DAY TO MINUTE", "2 01:30", 178_200_000_000),
        ("DAY TO SECOND", "0 00:00:01.5", 1_500_000),
        ("HOUR", "-5", -18_000_000_000),
        ("HOUR TO MINUTE", "100:05", 360_300_000_000),
        ("HOUR TO SECOND", "1:00:00.000001", 3_600_000_001),
        ("MINUTE", "90", 5_400_000_000),
        ("MINUTE TO SECOND", "123:59", 7_439_000_000),
        ("SECOND", "-90.25", -90_250_000),
    ],
)
def test_interval_of_each_qualifier(words: str, text: str, amount: int) -> None:
    value = to_interval(text, Qualifier(words))
    assert value == Interval(amount, Qualifier(words))
    assert value.text() == text
    assert to_interval(character(value)) == value


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("YEAR", "1-06"),
        ("DAY TO HOUR", "2 24"),
        ("HOUR TO MINUTE", "1:60"),
        ("SECOND", "1:30"),
        ("MONTH", "1.5"),
        ("DAY", ""),
    ],
)
def test_interval_that_does_not_fit_its_fields(words: str, text: str) -> None:
    with pytest.raises(ConversionError):
        to_interval(text, Qualifier(words))


def test_interval_literal_is_recut_to_the_fields_asked_for() -> None:
    assert to_interval("INTERVAL '36' HOUR", Qualifier.DAY).text() == "1"
    assert to_interval("INTERVAL '-36' HOUR", Qualifier.DAY).text() == "-1"
    with pytest.raises(ConversionError):
        to_interval("INTERVAL '36' HOUR", Qualifier.MONTH)


def test_type_of() -> None:
    assert type_of(True) is Type.BOOLEAN
    assert type_of(1) is Type.INTEGER
    assert type_of(datetime(2000, 1, 1)) is Type.TIMESTAMP
    assert type_of(date(2000, 1, 1)) is Type.DATE
    assert type_of(None) is Type.NULL
    with pytest.raises(ExpressionError, match="list"):
        type_of([])


def test_errors_survive_pickling() -> None:
    error = ConversionError(NOT_A_FLOAT, "no", ("x", 1))
    copy: EsqlError = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.number, copy.text, copy.inserts) == (ConversionError, NOT_A_FLOAT, "no", ("x", 1))
    assert copy.folder == "ConversionException"


qualifiers = st.sampled_from(list(Qualifier))
finite = st.floats(allow_nan=False, allow_infinity=False)
decimals = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30, places=4)
values = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    decimals,
    st.booleans(),
    st.binary(max_size=20),
    st.text("01", max_size=20).map(Bits),
    st.dates(),
    st.times(),
    st.datetimes(),
    st.times().map(GmtTime),
    st.datetimes().map(GmtTimestamp),
    st.builds(of_units, st.integers(-(10**15), 10**15), qualifiers),
)


@given(values)
def test_what_is_cast_to_character_and_back_is_the_same(value: Any) -> None:
    assert convert(convert(value, Type.CHARACTER), type_of(value)) == value


@given(values)
def test_values_survive_pickling(value: Any) -> None:
    copy = pickle.loads(pickle.dumps(value))
    assert copy == value
    assert type(copy) is type(value)


@given(finite)
def test_float_as_character_is_right_to_15_digits(value: float) -> None:
    text = character(value)
    try:
        back = to_float(text)
    except ConversionError:
        assert abs(value) > 1.7976931348623e308
        return
    assert back == float(f"{value:.15g}")
    assert character(back) == text
    mantissa, _, exponent = text.partition("E")
    assert len(mantissa.lstrip("-").replace(".", "")) <= 15
    assert exponent[0] in "+-"


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (to_integer, to_float, to_decimal, to_blob, to_bits, to_date, to_time, to_timestamp, to_interval):
        try:
            read(text)
        except ConversionError:
            continue
