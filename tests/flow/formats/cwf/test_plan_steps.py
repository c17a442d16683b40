"""Null in a structure: the bytes or the value that mean it, both ways."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow.formats.cwf.structures import LITTLE, field, model_of, read, written, written_again
from heliograph.flow.errors import FormatProblem, ModelProblem

FILL = "nilKind: literalCharacter"
LOGICAL = "nilKind: logicalValue"
PACKED = "binaryNumberRep: packed"
ZONED = "representation: text, textNumberRep: zoned"
NULLS = {
    # type, properties, bytes of null, another value, its bytes
    "text": ("string", "length: 4, nilValue: N/A", b"N/A ", "N", b"N   "),
    "text on the right": ("string", "length: 4, justification: right, nilValue: '-'", b"   -", "x", b"   x"),
    "blanks": ("string", f"length: 4, {FILL}, nilValue: ' '", b"    ", "x", b"x   "),
    "padding": ("string", f"length: 3, padCharacter: '*', {FILL}, nilValue: '*'", b"***", "x", b"x**"),
    "value of a text": ("string", f"length: 4, {LOGICAL}, nilValue: 'none'", b"none", "x", b"x   "),
    "empty text": ("string", f"length: 2, {LOGICAL}, nilValue: ''", b"  ", "x", b"x "),
    "text with a length": ("string", "lengthKind: prefixed, prefixLength: 1, nilValue: '?'", b"\1?", "??", b"\2??"),
    "text with a NUL": ("string", f"lengthKind: delimited, {LOGICAL}, nilValue: '?'", b"?\0", "", b"\0"),
    "value of an integer": ("integer", f"length: 2, {LOGICAL}, nilValue: -1", b"\xff\xff", 7, b"\0\7"),
    "filled integer": ("integer", f"length: 2, {FILL}, nilValue: '%#r80;'", b"\x80\x80", 7, b"\0\7"),
    "bytes of an integer": ("integer", "length: 2, nilValue: '%#r80;%#r00;'", b"\x80\0", 7, b"\0\7"),
    "packed of no digits": ("integer", f"length: 2, {PACKED}, {FILL}, nilValue: '%#rFF;'", b"\xff\xff", 7, b"\0\x7c"),
    "zoned of blanks": ("integer", f"length: 3, {ZONED}, {FILL}, nilValue: '%SP;'", b"   ", 7, b"007"),
    "number in text": ("integer", "length: 3, representation: text, nilValue: '-'", b"  -", 7, b"  7"),
    "float": ("float", f"length: 4, {LOGICAL}, nilValue: -1", b"\xbf\x80\0\0", 1.0, b"\x3f\x80\0\0"),
    "date": (
        "date",
        f"calendarPattern: yyyyMMdd, {LOGICAL}, nilValue: '9999-12-31'",
        b"99991231",
        date(2026, 11, 16),
        b"20261116",
    ),
    "date of zeros": (
        "date",
        "calendarPattern: yyyyMMdd, nilValue: '00000000'",
        b"0" * 8,
        date(2026, 1, 2),
        b"20260102",
    ),
    "boolean": ("boolean", "length: 1, nilValue: '?'", b"?", True, b"\1"),
    "binary": ("binary", f"length: 2, {FILL}, nilValue: '%NUL;'", b"\0\0", b"\0\1", b"\0\1"),
}


@pytest.mark.parametrize(("kind", "properties", "null", "value", "data"), NULLS.values(), ids=NULLS)
def test_null_is_read_and_written(kind: str, properties: str, null: bytes, value: Any, data: bytes) -> None:
    models = model_of(field(kind, properties))
    assert read(models, null) == {"F": None}
    assert written_again(models, null) == null
    assert written(models, {"F": None}) == null
    assert read(models, data) == {"F": value}
    assert written(models, {"F": value}) == data


def test_bytes_of_null_stand_in_the_message_as_they_are_written_in_the_model() -> None:
    models = model_of(field("integer", "length: 2, nilValue: '%#r80;%#r01;'"))
    assert read(models, b"\x80\1", encoding=LITTLE) == {"F": None}
    assert written(models, {"F": None}, encoding=LITTLE) == b"\x80\1"


def test_text_of_null_is_in_the_character_set_of_the_message() -> None:
    models = model_of(field("string", "length: 3, nilValue: AB"))
    assert read(models, b"\xc1\xc2\x40", 37) == {"F": None}
    assert written(models, {"F": None}, 37) == b"\xc1\xc2\x40"


def test_a_missing_field_is_not_null_but_has_its_default() -> None:
    models = model_of(field("integer", f"length: 1, {LOGICAL}, nilValue: 0", "default: 5"))
    assert written(models, {}) == b"\5"
    assert written(models, {"F": None}) == b"\0"


def test_a_missing_field_without_a_default_is_a_problem_even_if_it_can_be_null() -> None:
    with pytest.raises(FormatProblem, match=r"field F: .* found nothing, and the model has no default"):
        written(model_of(field("integer", "length: 1, nilValue: '?'")), {})


def test_a_format_says_for_fields_that_are_nillable_what_null_is() -> None:
    members = (
        "- {name: A, type: string, nillable: true, CWF1: {length: 2}}\n- {name: B, type: string, CWF1: {length: 2}}"
    )
    models = model_of(members, f"{FILL}, nilValue: '*'")
    assert read(models, b"****") == {"A": None, "B": "**"}


@pytest.mark.parametrize(
    ("kind", "properties", "expected"),
    [
        ("integer", f"length: 2, {LOGICAL}, nilValue: x", "nilValue: expected a value of type integer, found 'x'"),
        ("float", f"length: 8, {LOGICAL}, nilValue: NaN", "nilValue: expected a value of type float, found 'NaN'"),
        ("float", "length: 8, nilValue: x", "nilKind: expected logicalValue for a floating-point number"),
        ("integer", "length: 2, nilValue: abc", "nilValue: expected 2 bytes, found 3 in 'abc'"),
        ("string", "length: 2, nilValue: abc", "nilValue: expected 2 bytes, found 3 in 'abc'"),
        ("string", f"length: 2, {FILL}, nilValue: ab", "nilValue: expected one character that fills 2 bytes"),
        ("string", f"lengthKind: delimited, {FILL}, nilValue: a", "expected another than literalCharacter"),
        ("string", "length: 2, encoding: ascii, nilValue: ä", "nilValue: ascii has no 'ä'"),
    ],
)
def test_what_cannot_stand_for_null_is_a_problem_of_the_model(kind: str, properties: str, expected: str) -> None:
    with pytest.raises(ModelProblem) as raised:
        read(model_of(field(kind, properties)), b"")
    assert expected in str(raised.value)


def test_a_field_that_counts_others_cannot_be_null() -> None:
    members = (
        "- {name: N, type: integer, CWF1: {length: 1, nilValue: '?'}}\n"
        "- {name: F, type: string, occurs: 0..9, CWF1: {length: 1, occursCount: '{../N}'}}"
    )
    with pytest.raises(ModelProblem, match="occursCount: expected a field that is never null, found N"):
        read(model_of(members), b"")


SEVERAL = model_of("""
- {name: A, type: integer, CWF1: {length: 2, nilKind: logicalValue, nilValue: -1}}
- {name: B, type: decimal, CWF1: {length: 3, binaryNumberRep: packed, nilKind: literalCharacter, nilValue: "%#rFF;"}}
- {name: C, type: string, CWF1: {length: 5, nilValue: NULL!}}
""")


@settings(max_examples=50, deadline=None)
@given(
    st.none() | st.integers(0, 999),
    st.none() | st.integers(-999, 999),
    st.none() | st.sampled_from(["", "a", "null!", "NULL"]),
)
def test_fields_are_null_each_for_itself(a: int | None, b: int | None, c: str | None) -> None:
    values = {"A": a, "B": b, "C": c}
    assert read(SEVERAL, written(SEVERAL, values)) == values
