"""MQRFH2: folders before the body."""

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.flow.errors import FormatProblem
from heliograph.flow.formats.mqrfh2 import MQRFH2, read_head
from heliograph.flow.tree import Element, Part, Text

BIG, LITTLE, EBCDIC = Text(819, 273), Text(1208, 546), Text(500, 273)


def header(text: Text, **fields: Any) -> Part:
    part = Part(MQRFH2, None, text)
    for name, value in fields.items():
        child = part.append(Element(name))
        for inner, each in value.items() if isinstance(value, dict) else ():
            child.append(Element(inner, each))
        if not isinstance(value, dict):
            child.set_value(value)
    return part


def test_the_bytes_of_a_header() -> None:
    part = header(BIG, Format="MQSTR", Encoding=273, CodedCharSetId=1208, usr={"a": "x"})
    folder = b"<usr><a>x</a></usr> "
    fixed = struct.pack(">4s4i8s2i", b"RFH ", 2, 36 + 4 + len(folder), 273, 1208, b"MQSTR   ", 0, 1208)
    assert part.bytes() == fixed + struct.pack(">i", len(folder)) + folder


def test_a_header_without_folders_has_36_bytes() -> None:
    assert len(header(BIG).bytes()) == 36


@pytest.mark.parametrize("text", [BIG, LITTLE, EBCDIC])
def test_folders_are_filled_up_to_a_multiple_of_4(text: Text) -> None:
    for length in range(8):
        data = header(text, usr={"a": "x" * length}, NameValueCCSID=1208).bytes()
        assert len(data) % 4 == 0
        assert read_head(data, text).length == len(data)


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("<a>x &lt; y</a>", "x < y"),
        ("<a></a>", ""),
        ("<a dt='i4'>-5</a>", -5),
        ("<a dt='i8'>5000000000</a>", 5_000_000_000),
        ("<a dt='r8'>1.5</a>", 1.5),
        ("<a dt='boolean'>1</a>", True),
        ("<a dt='bin.hex'>00ff</a>", b"\0\xff"),
        ("<a xsi:nil='true'></a>", None),
    ],
)
def test_dt_says_the_type_of_a_value(typed: str, value: Any) -> None:
    folder = f"<usr>{typed}</usr>".encode()
    folder += b" " * (-len(folder) % 4)
    data = struct.pack(">4s4i8s2ii", b"RFH ", 2, 40 + len(folder), 273, 1208, b"", 0, 1208, len(folder)) + folder
    part = Part(MQRFH2, data, BIG)
    usr = part.first("usr")
    assert usr is not None
    assert [(child.name, child.value) for child in usr.children] == [("a", value)]
    part.touch()
    assert part.bytes() == data.replace(b"\0" * 8 + b"\0\0\0\0", b" " * 8 + b"\0\0\0\0", 1)


values = st.one_of(
    st.text(st.sampled_from("ab <>&'é€"), min_size=1, max_size=9),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.binary(max_size=9),
)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), values, min_size=1),
    st.sampled_from([BIG, LITTLE, EBCDIC]),
    st.sampled_from([1208, 1200, 13488]),
)
def test_folders_come_back(folder: dict[str, Any], text: Text, ccsid: int) -> None:
    data = header(text, NameValueCCSID=ccsid, usr=folder, jms={"Dst": "queue"}).bytes()
    part = Part(MQRFH2, data, text)
    usr = part.first("usr")
    assert usr is not None
    assert {child.name: child.value for child in usr.children} == folder
    assert part.first("jms") is not None
    part.touch()
    assert part.bytes() == data


def test_folders_that_are_not_plain_are_read_one_by_one() -> None:
    data = header(BIG, mcd={"Msd": "xml"}, usr={"a": 5}).bytes()
    part = Part(MQRFH2, data, BIG)
    assert part.first("mcd") is not None
    assert [child.name for child in part.loaded or []][-1] == "mcd"


def test_a_folder_that_cannot_be_read_does_not_hide_those_before_it() -> None:
    data = header(BIG, mcd={"Msd": "xml"}, usr={"a": "x"}).bytes().replace(b"<usr>", b"<usx>")
    part = Part(MQRFH2, data, BIG)
    assert part.first("mcd") is not None
    with pytest.raises(FormatProblem, match="expected a folder in XML"):
        part.first("usr")


def test_what_is_changed_in_one_message_is_as_it_was_in_the_next_with_the_same_header() -> None:
    data = header(BIG, mcd={"Msd": "xml"}, usr={"a": "x"}).bytes()
    changed, other = Part(MQRFH2, data, BIG), Part(MQRFH2, data, BIG)
    usr = changed.first("usr")
    assert usr is not None
    usr.set_value_of("a", "y")
    usr.set_value_of("b", "z")
    seen = other.first("usr")
    assert seen is not None
    assert [(child.name, child.value) for child in seen.children] == [("a", "x")]
    assert other.bytes() == data != changed.bytes()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"RFH ", "expected 36 bytes, found 4 bytes"),
        (b"XXX " + bytes(32), "expected the letters 'RFH '"),
        (struct.pack(">4si", b"RFH ", 1) + bytes(28), "expected version 2, found 1"),
        (struct.pack(">4sii", b"RFH ", 2, 400) + bytes(24), "StrucLength: expected a multiple of 4 from 36 to 36"),
    ],
)
def test_bytes_that_are_no_header_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(FormatProblem, match=said):
        _ = Part(MQRFH2, data, BIG).children


def test_a_folder_that_is_no_xml_is_refused_with_its_place() -> None:
    folder = b"<usr><a></usr>  "
    data = struct.pack(">4s4i8s2ii", b"RFH ", 2, 40 + len(folder), 273, 1208, b"", 0, 1208, len(folder)) + folder
    with pytest.raises(FormatProblem, match=r"offset 40, field usr.a: expected a folder in XML"):
        _ = Part(MQRFH2, data, BIG).children


def test_a_format_that_is_no_text_is_refused() -> None:
    data = struct.pack(">4s4i8s2i", b"RFH ", 2, 36, 273, 1208, b"\xff\xfe", 0, 1208)
    with pytest.raises(FormatProblem, match="offset 20, field Format: expected text in utf-8"):
        _ = Part(MQRFH2, data, Text(1208, 273)).children


def test_text_that_its_character_set_does_not_have_is_refused() -> None:
    data = struct.pack("<4s4i8s2i", b"RFH ", 2, 36, 546, 1208, b"MQSTR\xff", 0, 1208)
    with pytest.raises(FormatProblem, match=r"offset 20, field Format: expected text in utf-8, found b'MQSTR\\xff"):
        _ = Part(MQRFH2, data, LITTLE).children
    with pytest.raises(FormatProblem, match=r"field Format: expected text that iso8859-1 has characters for, found '€"):
        header(BIG, Format="€").bytes()
    with pytest.raises(FormatProblem, match="field usr: expected text that utf-8 has characters for"):
        header(BIG, usr={"a": "\ud800"}).bytes()


def test_folders_in_a_character_set_that_no_header_has_are_refused() -> None:
    data = struct.pack(">4s4i8s2i", b"RFH ", 2, 36, 273, 1208, b"", 0, 37)
    with pytest.raises(FormatProblem, match="offset 32, field NameValueCCSID: expected one of 1208, 1200"):
        _ = Part(MQRFH2, data, Text(819, 273)).children


@pytest.mark.parametrize("inside", ["", "<b>x y</b>", "<b></b><c>é</c>", "<b>1</b><b>2</b>"])
def test_a_plain_folder_is_read_as_one_that_needs_a_parser_of_xml(inside: str) -> None:
    def read(folder: str) -> list[tuple[str, Any, int]]:
        data = folder.encode()
        data += b" " * (-len(data) % 4)
        fixed = struct.pack(">4s4i8s2i", b"RFH ", 2, 40 + len(data), 273, 1208, b"MQSTR   ", 0, 1208)
        part = Part(MQRFH2, fixed + struct.pack(">i", len(data)) + data, BIG)
        return [(each.name, each.value, each.type) for each in part.descendants()]

    assert read(f"<a>{inside}</a>") == read(f"<a >{inside}</a>")
