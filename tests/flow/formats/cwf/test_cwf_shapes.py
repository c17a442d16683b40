"""Each physical type, as it is in the bytes."""

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from flow.formats.cwf.structures import BIG, LITTLE, S390, field, model_of, read, written
from heliograph.flow.errors import FormatProblem

EBCDIC, LATIN, UTF_8, UTF_16 = 500, 819, 1208, 1200
ZONED = "representation: text, textNumberRep: zoned"
PACKED = "binaryNumberRep: packed"

FIELDS: dict[str, tuple[str, str, Any, str, int, int]] = {
    # kind, properties, value, bytes, CCSID, encoding
    "text fills up with blanks": ("string", "length: 5", "ab", "6162202020", UTF_8, BIG),
    "text in EBCDIC": ("string", "length: 5", "ab", "8182404040", EBCDIC, BIG),
    "text to the right": ("string", "length: 4, justification: right, padCharacter: '*'", "ab", "2a2a6162", UTF_8, BIG),
    "text in the middle": ("string", "length: 4, justification: center", "ab", "20616220", UTF_8, BIG),
    "text filled with NULs": ("string", "length: 4, padCharacter: '%NUL;'", "ab", "61620000", UTF_8, BIG),
    "text by character units": ("string", "length: 2, lengthUnits: characters", "a", "00610020", UTF_16, BIG),
    "UTF-16 in the order of integers": ("string", "length: 4", "a", "61002000", UTF_16, LITTLE),
    "text by characters of UTF-8": ("string", "length: 3, lengthUnits: characters", "äö", "c3a4c3b620", UTF_8, BIG),
    "a model can name the character set": ("string", "length: 2, encoding: cp037", "a", "8140", UTF_8, BIG),
    "a model can name a CCSID": ("string", "length: 2, encoding: 37", "a", "8140", UTF_8, BIG),
    "text with its length in 1 byte": (
        "string",
        "lengthKind: prefixed, prefixLength: 1",
        "abc",
        "03616263",
        UTF_8,
        BIG,
    ),
    "text with its length in 2 bytes": ("string", "lengthKind: prefixed", "abc", "0003616263", UTF_8, BIG),
    "a length is in the order of integers": ("string", "lengthKind: prefixed", "abc", "0300616263", UTF_8, LITTLE),
    "text that a NUL ends": ("string", "lengthKind: delimited", "abc", "61626300", UTF_8, BIG),
    "UTF-16 that a NUL ends": ("string", "lengthKind: delimited", "aĀ", "006101000000", UTF_16, BIG),
    "text to the end": ("string", "lengthKind: endOfParent", "abc", "616263", UTF_8, BIG),
    "integer of 1 byte": ("integer", "length: 1", -2, "fe", UTF_8, BIG),
    "integer of 2 bytes": ("integer", "length: 2", -2, "fffe", UTF_8, BIG),
    "integer of 4 bytes": ("integer", "length: 4", 258, "00000102", UTF_8, BIG),
    "integer of 8 bytes": ("integer", "length: 8", 258, "0000000000000102", UTF_8, BIG),
    "integer the other way round": ("integer", "length: 4", 258, "02010000", UTF_8, LITTLE),
    "integer without a sign": ("integer", "length: 2, decimalSigned: false", 65534, "fffe", UTF_8, BIG),
    "byte order of the model": ("integer", "length: 2, byteOrder: littleEndian", 1, "0100", UTF_8, BIG),
    "binary with an implied point": (
        "decimal",
        "length: 2, virtualDecimalPoint: 2",
        Decimal("1.25"),
        "007d",
        UTF_8,
        BIG,
    ),
    "packed": ("integer", f"length: 3, {PACKED}", 12345, "12345c", UTF_8, BIG),
    "packed below zero": ("integer", f"length: 3, {PACKED}", -42, "00042d", UTF_8, BIG),
    "packed without a sign": ("integer", f"length: 2, decimalSigned: false, {PACKED}", 42, "042f", UTF_8, BIG),
    "packed the other way round": ("integer", f"length: 2, {PACKED}", 123, "3c12", UTF_8, LITTLE),
    "packed with a point": (
        "decimal",
        f"length: 3, virtualDecimalPoint: 2, {PACKED}",
        Decimal("-12.50"),
        "01250d",
        UTF_8,
        BIG,
    ),
    "packed with zeros that are not stored": (
        "integer",
        f"length: 2, virtualDecimalPoint: -3, {PACKED}",
        42000,
        "042c",
        UTF_8,
        BIG,
    ),
    "packed digits only": ("integer", "length: 2, binaryNumberRep: bcd", 1234, "1234", UTF_8, BIG),
    "zoned in EBCDIC": ("integer", f"length: 3, {ZONED}", 123, "f1f2c3", EBCDIC, BIG),
    "zoned below zero in EBCDIC": ("integer", f"length: 3, {ZONED}", -120, "f1f2d0", EBCDIC, BIG),
    "zoned without a sign": ("integer", f"length: 3, decimalSigned: false, {ZONED}", 7, "f0f0f7", EBCDIC, BIG),
    "zoned, sign leading": ("integer", f"length: 3, signOrientation: leading, {ZONED}", -123, "d1f2f3", EBCDIC, BIG),
    "zoned, sign before": (
        "integer",
        f"length: 4, signOrientation: leadingSeparate, {ZONED}",
        -123,
        "60f1f2f3",
        37,
        BIG,
    ),
    "zoned, sign behind": (
        "integer",
        f"length: 4, signOrientation: trailingSeparate, {ZONED}",
        123,
        "f1f2f34e",
        37,
        BIG,
    ),
    "zoned in ASCII": ("integer", f"length: 3, {ZONED}", -123, "313273", LATIN, BIG),
    "zoned in ASCII with EBCDIC's signs": (
        "integer",
        f"length: 3, textZonedSignStyle: asciiTranslatedEBCDIC, {ZONED}",
        -123,
        b"12L".hex(),
        LATIN,
        BIG,
    ),
    "zoned with a point": (
        "decimal",
        f"length: 4, virtualDecimalPoint: 2, {ZONED}",
        Decimal("-12.34"),
        "f1f2f3d4",
        EBCDIC,
        BIG,
    ),
    "number in text": ("integer", "length: 5, representation: text", -12, b"  -12".hex(), UTF_8, BIG),
    "number in text with zeros": (
        "integer",
        "length: 5, representation: text, padCharacter: 0",
        -12,
        b"-0012".hex(),
        UTF_8,
        BIG,
    ),
    "decimal in text": ("decimal", "length: 6, representation: text", Decimal("1.50"), b"  1.50".hex(), UTF_8, BIG),
    "float of 4 bytes": ("float", "length: 4", -118.625, "c2ed4000", UTF_8, BIG),
    "float of 8 bytes": ("float", "", 1.5, "3ff8000000000000", UTF_8, BIG),
    "float the other way round": ("float", "", 1.5, "000000000000f83f", UTF_8, LITTLE),
    "float of S/390": ("float", "length: 4", -118.625, "c276a000", UTF_8, S390),
    "long float of S/390": ("float", "length: 8, binaryFloatRep: ibm390Hex", 1.0, "4110000000000000", UTF_8, BIG),
    "bytes": ("binary", "length: 3", b"\x00\x01\xff", "0001ff", UTF_8, BIG),
    "bytes with their length": ("binary", "lengthKind: prefixed, prefixLength: 4", b"\x01", "0000000101", UTF_8, BIG),
    "boolean": ("boolean", "length: 1", True, "01", UTF_8, BIG),
    "boolean in text": (
        "boolean",
        "length: 1, representation: text, textBooleanTrueRep: Y, textBooleanFalseRep: N",
        False,
        b"N".hex(),
        UTF_8,
        BIG,
    ),
    "date in text": ("date", "calendarPattern: yyyyMMdd", date(2004, 9, 30), b"20040930".hex(), UTF_8, BIG),
    "date by the day of the year": ("date", "calendarPattern: yyDDD", date(2004, 12, 31), b"04366".hex(), UTF_8, BIG),
    "dateTime in text": ("dateTime", "", datetime(2004, 9, 30, 1, 2, 3), b"2004-09-30T01:02:03".hex(), UTF_8, BIG),
    "packed dateTime": (
        "dateTime",
        "binaryCalendarRep: packed",
        datetime(2004, 9, 30, 23, 59, 58),
        "020040930235958c",
        UTF_8,
        BIG,
    ),
    "packed time without a sign": ("time", "binaryCalendarRep: bcd", time(23, 59, 58), "235958", UTF_8, BIG),
    "seconds since 1970": (
        "dateTime",
        "binaryCalendarRep: binarySeconds",
        datetime(1970, 1, 2),
        "00015180",
        UTF_8,
        BIG,
    ),
    "milliseconds since 1970": (
        "dateTime",
        "binaryCalendarRep: binaryMilliseconds, byteOrder: littleEndian",
        datetime(1970, 1, 1, 0, 0, 1, 2000),
        "ea03000000000000",
        UTF_8,
        BIG,
    ),
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_value_is_written_as_these_bytes_and_read_from_them(name: str) -> None:
    kind, properties, value, data, ccsid, encoding = FIELDS[name]
    models = model_of(field(kind, properties))
    assert written(models, {"F": value}, ccsid, encoding).hex() == data
    found = read(models, bytes.fromhex(data), ccsid, encoding)["F"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "properties", "data", "expected", "found"),
    [
        ("integer", f"length: 2, {PACKED}", "1a3c", "a packed number of 3 digits, signed", "1a3c"),
        ("integer", f"length: 2, {PACKED}", "1234", "a packed number of 3 digits, signed", "sign 4 in 1234"),
        ("integer", "length: 1, binaryNumberRep: bcd", "1f", "2 packed digits", "1f"),
        ("integer", f"length: 2, {ZONED}", "4032", "a zoned number in 2 bytes, sign trailing", "4032"),
        ("integer", f"length: 2, signOrientation: leadingSeparate, {ZONED}", "3131", "sign leadingSeparate", "3131"),
        ("string", "length: 2", "c3c3", "text in utf-8 in 2 bytes", "c3c3"),
        ("integer", "length: 2, representation: text", "2041", "a number in text in utf-8", "'A'"),
        ("date", "calendarPattern: yyyyMMdd", b"20041301".hex(), "a date in text", "month must be in 1..12"),
        ("date", "binaryCalendarRep: bcd", "2004093x".replace("x", "f"), "a packed date in 4 bytes", "2004093f"),
    ],
)
def test_bytes_that_do_not_fit_are_named(kind: str, properties: str, data: str, expected: str, found: str) -> None:
    models = model_of(f"- {{name: A, type: binary, CWF1: {{length: 3}}}}\n{field(kind, properties)}")
    with pytest.raises(FormatProblem) as problem:
        read(models, b"...."[:3] + bytes.fromhex(data))
    assert (problem.value.offset, problem.value.path, problem.value.format) == (3, "F", "CWF CWF1 of M")
    assert expected in problem.value.expected
    assert found in problem.value.found


@pytest.mark.parametrize(
    ("kind", "properties", "value", "expected", "found"),
    [
        ("integer", "length: 2", 40000, "a binary number from -32768 to 32767", "40000"),
        ("integer", "length: 1, decimalSigned: false", -1, "a binary number from 0 to 255", "-1"),
        ("integer", f"length: 2, {PACKED}", 1000, "a packed number of 3 digits", "1000"),
        ("integer", f"length: 3, digits: 4, {PACKED}", 12345, "a packed number of 4 digits", "12345"),
        ("integer", f"length: 2, decimalSigned: false, {ZONED}", -1, "a zoned number in 2 bytes, no sign", "-1"),
        ("string", "length: 2", "abc", "text in utf-8 in 2 bytes", "3 bytes"),
        ("string", "length: 2, encoding: latin-1", "Ā", "text in iso8859-1", "'Ā'"),
        ("string", "lengthKind: prefixed, prefixLength: 1", "x" * 256, "at most 255 bytes", "256 bytes"),
        ("string", "lengthKind: delimited", "a\0b", "text without a NUL", "a\\x00b"),
        ("binary", "length: 2", b"abc", "2 bytes", "3 bytes"),
        ("integer", "length: 2", "many", "a binary number", "'many'"),
        ("float", "length: 4", 1e300, "a floating-point number in 4 bytes", "1e+300"),
        ("float", "length: 4, binaryFloatRep: ibm390Hex", 1e300, "a floating-point number in 4 bytes", "1e+300"),
    ],
)
def test_values_that_do_not_fit_are_named(kind: str, properties: str, value: Any, expected: str, found: str) -> None:
    with pytest.raises(FormatProblem) as problem:
        written(model_of(field(kind, properties)), {"F": value})
    assert problem.value.path == "F"
    assert expected in problem.value.expected
    assert found in problem.value.found


@pytest.mark.parametrize(
    ("kind", "properties", "value", "same_as"),
    [
        ("integer", "length: 2", "12", 12),
        ("integer", "length: 2", 12.9, 12),
        ("decimal", f"length: 3, virtualDecimalPoint: 2, {PACKED}", 1.005, Decimal("1.01")),
        ("decimal", f"length: 3, virtualDecimalPoint: 2, {PACKED}", 7, Decimal(7)),
        ("string", "length: 5", 12, "12"),
        ("date", "calendarPattern: yyyyMMdd", "2004-09-30", date(2004, 9, 30)),
        ("dateTime", "", date(2004, 9, 30), datetime(2004, 9, 30)),
    ],
)
def test_values_of_other_types_are_converted(kind: str, properties: str, value: Any, same_as: Any) -> None:
    models = model_of(field(kind, properties))
    assert written(models, {"F": value}) == written(models, {"F": same_as})
