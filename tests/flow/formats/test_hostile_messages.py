"""Messages that were made to harm: each is refused at once, with a problem that fits into a log."""

import struct
from typing import Any

import pytest

from flow.formats.every_format import CATALOGUE, SWIFT
from flow.formats.modelled import Modelled
from heliograph.flow.errors import FormatProblem
from heliograph.flow.tree import Element, Part, Text

DEEP = 20_000
MANY = b"\x7f\xff\xff\xff"


def cwf(*members: str) -> Any:
    lines = "\n".join(f"      - {{{member}}}" for member in members)
    return Modelled(f"formats:\n  F: {{kind: CWF, byteOrder: bigEndian}}\nmessages:\n  M:\n    sequence:\n{lines}").read


def tds(separation: str, *members: str) -> Any:
    lines = "\n".join(f"      - {{{member}}}" for member in members)
    top = f"    F: {{dataElementSeparation: {separation}}}"
    return Modelled(f"formats:\n  F: {{kind: TDS}}\nmessages:\n  M:\n{top}\n    sequence:\n{lines}").read


def domain(name: str) -> Any:
    return lambda data: CATALOGUE.part_of(name, data)


def swift(data: bytes) -> Part:
    text = Text(message_set="S", message_type="MT")
    return Part(SWIFT.format(text), b"{1:F01BANKBEBBAXXX0001000001}{4:\r\n" + data + b"-}", text)


def folder(text: bytes) -> bytes:
    return struct.pack("<4s4i8s3i", b"RFH ", 2, 40 + len(text), 546, 1208, b"", 0, 1208, len(text)) + text


COUNTED = ("name: N, type: integer, F: {length: 4}", "name: L, type: integer, F: {length: 2}")
LAUGHS = b'<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><l>&b;</l>'
INTEGER = "name: A, type: integer"
HOSTILE = {
    "XML: entities": (domain("XML"), LAUGHS, "a document without DOCTYPE"),
    "XMLNSC: entities": (domain("XMLNSC"), LAUGHS, "a document without DOCTYPE"),
    "XML: depth": (domain("XML"), b"<a>" * DEEP + b"</a>" * DEEP, "at most 256 elements"),
    "XMLNSC: depth": (domain("XMLNSC"), b"<a b='1'>" * DEEP + b"</a>" * DEEP, "at most 256 elements"),
    "JSON: depth": (domain("JSON"), b"[" * DEEP, "at most 256 values inside each other"),
    "JSON: digits": (domain("JSON"), b'{"a": ' + b"9" * 100_000 + b"}", "a number that DECIMAL can hold"),
    "JSON: exponent": (domain("JSON"), b"1e9999999999999999999", "a number that DECIMAL can hold"),
    "MQRFH2: depth": (domain("MQRFH2"), folder(b"<a>" * DEEP + b"</a>" * DEEP), "a folder in XML"),
    "MQRFH2: length": (domain("MQRFH2"), folder(b"")[:-4] + MANY[::-1], "at most 0 bytes"),
    "CWF: count": (
        cwf(*COUNTED, "name: A, type: string, occurs: 0..*, F: {length: 1, occursCount: '{../N}'}"),
        MANY + b"\0\0abc",
        "a count in N that the message has room for",
    ),
    "CWF: count of nothing": (
        cwf(*COUNTED, "name: A, type: string, occurs: 0..*, F: {length: '{../L}', occursCount: '{../N}'}"),
        MANY + b"\0\0",
        "a count in N that the message has room for",
    ),
    "CWF: negative count": (
        cwf(*COUNTED, "name: A, type: string, occurs: 0..*, F: {length: 1, occursCount: '{../N}'}"),
        b"\xff\xff\xff\xff\0\0",
        "a count in N",
    ),
    "CWF: length": (
        cwf(*COUNTED, "name: A, type: string, F: {length: '{../N}'}"),
        MANY + b"\0\0a",
        "as many bytes as its length says",
    ),
    "CWF: negative length": (
        cwf(*COUNTED, "name: A, type: string, F: {length: '{../N}'}"),
        b"\xff\xff\xff\xff\0\0a",
        "a length in N",
    ),
    "TDS: encoded length": (
        tds("taggedEncodedLength, lengthOfTag: 1, lengthOfEncodedLength: 9", "name: A, type: string, F: {tag: t}"),
        b"t999999999x",
        "a length that fits",
    ),
    "TDS: digits": (tds("fixedLength", f"{INTEGER}, F: {{length: 5000}}"), b"9" * 5000, "an integer of 64 bits"),
    "TDS: other digits": (
        tds("fixedLength", f"{INTEGER}, F: {{length: 2}}"),
        "\N{ARABIC-INDIC DIGIT ONE}2".encode(),
        "an integer of 64 bits",
    ),
    "MRM XML: digits": (
        Modelled("formats: {F: {kind: XML}}\nmessages: {M: {sequence: [{name: A, type: integer}]}}").read,
        b"<M><A>" + b"1" * 30 + b"</A></M>",
        "an integer of 64 bits",
    ),
    "SWIFT: one sequence inside itself": (
        swift,
        b":16R:X\r\n" * DEEP + b":16S:X\r\n" * DEEP,
        "at most 32 sequences inside each other",
    ),
    "SWIFT: sequences inside each other": (
        swift,
        b"".join(b":16R:X%d\r\n" % n for n in range(DEEP))
        + b"".join(b":16S:X%d\r\n" % n for n in reversed(range(DEEP))),
        "at most 32 sequences inside each other",
    ),
}


@pytest.mark.timeout(10)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_message_is_refused_at_once(name: str) -> None:
    read, data, expected = HOSTILE[name]
    with pytest.raises(FormatProblem) as caught:
        for _ in read(data).descendants():
            pass
    assert expected in caught.value.expected
    assert len(str(caught.value)) < 1000


def test_a_path_through_many_elements_is_shortened() -> None:
    element = top = Element("top")
    for _ in range(1000):
        element = element.append(Element("inner"))
    assert "..." in str(FormatProblem("F", "a", "b", path=element.path()))
    assert top.path() == ""
