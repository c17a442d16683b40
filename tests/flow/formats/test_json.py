"""Domain JSON."""

import json
from datetime import date, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.flow.errors import FormatProblem
from heliograph.flow.formats import Catalogue
from heliograph.flow.language import dump_tree
from heliograph.flow.tree import Element, Part, Text
from heliograph.flow.tree.element_types import Json

CATALOGUE = Catalogue()


def part(text: str | bytes, how: Text = Text()) -> Part:  # noqa: B008
    return CATALOGUE.part_of("JSON", text.encode() if isinstance(text, str) else text, how)


def written(text: str) -> str:
    read = part(text)
    _ = read.children
    read.touch()
    return read.bytes().decode()


def test_object_and_array_as_a_tree() -> None:
    assert dump_tree(part('{"a": [1, 2.50, {"b": null}], "c": {}, "d": "x", "e": true}')).splitlines() == [
        "(0x1000000)JSON = (",
        "  (0x1002000)Data = (",
        "    (0x1001000)a = (",
        "      (0x3000000)Item = 1",
        "      (0x3000000)Item = 2.50",
        "      (0x1002000)Item = (",
        "        (0x3000000)b = NULL",
        "      )",
        "    )",
        "    (0x1002000)c = NULL",
        "    (0x3000000)d = 'x'",
        "    (0x3000000)e = TRUE",
        "  )",
        ")",
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"a":[1,2.50,{"b":null}],"c":{},"d":[],"e":"x\\"\\n"}',
        '{"a":1,"a":2,"":3}',
        "[1,[2,[]]]",
        "null",
        '"é日"',
        "1E+5",
        "12345678901234567890123",
        "0.1000",
        "-7",
        "false",
        '"\\ud800"',
    ],
)
def test_written_as_it_was_read(text: str) -> None:
    assert written(text) == text


def test_untouched_text_keeps_its_bytes() -> None:
    read = part(b' { "a" : 1.0e5 }\n')
    assert read.ensure("Data").ensure("a").value == Decimal("1.0E+5")
    assert read.bytes() == b' { "a" : 1.0e5 }\n'


def test_number_that_is_too_large_for_an_integer_is_a_decimal() -> None:
    assert [part(str(number)).children[0].value for number in (2**63 - 1, 2**63)] == [2**63 - 1, Decimal(2**63)]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (44.72, "44.72"),
        (Decimal("1.50"), "1.50"),
        (True, "true"),
        ("a/b", '"a/b"'),
        (b"\x01", '"01"'),
        (date(2003, 4, 1), '"2003-04-01"'),
        (datetime(2003, 4, 1, 9, 30, 0, 500_000), '"2003-04-01 09:30:00.500"'),
    ],
)
def test_values_of_esql_are_written(value: object, text: str) -> None:
    body = CATALOGUE.new_part("JSON")
    body.ensure("Data").ensure("a").set_value(value)
    assert body.bytes().decode() == f'{{"a":{text}}}'


def test_array_is_written_whatever_its_items_are_called() -> None:
    body = CATALOGUE.new_part("JSON")
    array = body.ensure("Data").append(Element("list", None, Json.ARRAY))
    array.append(Element("Item", 1))
    array.append(Element("other", 2))
    assert body.bytes() == b'{"list":[1,2]}'


@pytest.mark.parametrize(
    ("data", "how"),
    [
        ('"é"'.encode("cp500"), Text(ccsid=500)),
        ('"é"'.encode("latin-1"), Text(ccsid=819)),
        ('"é"'.encode("utf-16-le"), Text()),
        ('"é"'.encode("utf-8-sig"), Text(ccsid=819)),
    ],
    ids=["ebcdic", "latin", "wide", "mark"],
)
def test_encoding_is_found(data: bytes, how: Text) -> None:
    assert part(data, how).children[0].value == "é"


def test_character_that_the_ccsid_has_not_is_escaped() -> None:
    body = CATALOGUE.new_part("JSON", Text(ccsid=819))
    body.ensure("Data").set_value("€")
    assert body.bytes() == b'"\\u20ac"'


def test_members_at_the_top_are_made_as_far_as_somebody_looks() -> None:
    top = part(json.dumps({f"k{number}": number for number in range(10_000)})).ensure("Data")
    assert top.first("k5") is not None
    assert len(top.loaded or ()) < 200
    assert top.first("k9999") is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '{"a": {"b": [1,\n 2, x]}}',
            "JSON, line 2, column 5, field Data.a.b.Item: expected value, found 'x]}}'",
        ),
        ('{"a": 1', "line 1, column 8, field Data.a: expected ',' delimiter, found the end of the text"),
        ('{"a": 1} 2', "line 1, column 10, field Data: expected valid JSON (extra data), found '2'"),
        ("", "expected value, found the end of the text"),
        ('{"a": NaN}', "expected a number that DECIMAL can hold, found NaN"),
        ('"\x01"', "expected valid JSON (invalid control character)"),
        ("[" * 300 + "]" * 300, "at most 256 values inside each other"),
        ("[" * 100_000, "at most 256 values inside each other"),
        ("1e" + "9" * 30, "expected a number that DECIMAL can hold"),
        ("9" * 5000, "expected a number that DECIMAL can hold, found "),
        (b'"\xff"', "JSON, offset 1: expected text in utf-8, found X'ff22'"),
    ],
    ids=range(11),
)
def test_what_is_wrong_in_a_text_is_said(text: str | bytes, expected: str) -> None:
    with pytest.raises(FormatProblem) as raised:
        list(part(text).descendants())
    assert expected in str(raised.value)


def _value_and_fields(body: Part) -> None:
    body.ensure("Data").ensure("a").append(Element("b", 1))
    body.ensure("Data").ensure("a").set_value(2)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda body: body.append(Element("Other")), "JSON: expected one field Data, found Other"),
        (lambda body: None, "expected one field Data, found none"),
        (_value_and_fields, "field Data.a: expected a value or fields inside it, found both"),
        (lambda body: body.ensure("Data").set_value(float("inf")), "field Data: expected a number, found inf"),
    ],
    ids=["other", "none", "both", "infinite"],
)
def test_what_cannot_be_written_is_said(build: object, expected: str) -> None:
    body = CATALOGUE.new_part("JSON")
    build(body)  # type: ignore[operator]
    with pytest.raises(FormatProblem) as raised:
        body.bytes()
    assert expected in str(raised.value)


VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.text(max_size=8), st.floats(allow_nan=False, allow_infinity=False)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(st.text(max_size=5), inner, max_size=5)),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_any_value_is_the_same_after_reading_and_writing(value: object) -> None:
    again = json.loads(written(json.dumps(value)))
    assert again == value
