"""The reader for every document: encodings, and what is said of documents that are wrong."""

import pytest

from flow.formats.xml.documents import part
from heliograph.flow.errors import FormatProblem
from heliograph.flow.tree import Text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("<a>é</a>".encode("latin-1"), Text(ccsid=819)),
        ('<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>'.encode("latin-1"), Text()),
        ("<a>é</a>".encode("utf-8-sig"), Text(ccsid=819)),
        ("<a>é</a>".encode("utf-16"), Text()),
        ("<a>é</a>".encode("cp500"), Text(ccsid=500)),
        ('<?xml version="1.0"?><a>é</a>'.encode("utf-16-le"), Text()),
    ],
    ids=["ccsid", "declaration", "mark", "wide mark", "ebcdic", "wide"],
)
def test_encoding_is_found(data: bytes, text: Text) -> None:
    top = part(data, text=text).first("a")
    assert top is not None
    assert top.value == "é"


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            "<a>\n<b></c></a>",
            "XMLNSC, line 2, column 6, field a.b: expected </b>, found </c>",
        ),
        ("<a xmlns:p='u'><p:b><c/>x</b ></a>", "line 1, column 28, field a.b: expected </p:b>, found </b>"),
        ("<a><b>" + "é" * 5000 + "</ab>", "field a.b: expected </b>, found </ab>"),
        (
            "<a><b>&unknown;</b></a>",
            "line 1, column 7, field a.b: expected well-formed XML, found '&unknown;</b></a>' (undefined entity)",
        ),
        ("<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>", "expected a document without DOCTYPE"),
        ("<a><p:b/></a>", "line 1, column 4, field a: expected a declaration xmlns:p, found p:b"),
        ("<a/><b/>", "junk after document element"),
        ("<a>\x01</a>", "line 1, column 4, field a: expected well-formed XML"),
        ("", "found the end of the document"),
        ("<a>", "found the end of the document"),
        ("text", "syntax error"),
        ("<a x='1' x='2'/>", "duplicate attribute"),
        ("<a xmlns:p='u' xmlns:q='u' p:x='1' q:x='2'/>", "expected every attribute once"),
        ("<a>" * 300 + "</a>" * 300, "at most 256 elements inside each other"),
        (b"<a>\xff</a>", "XMLNSC, offset 3: expected text in utf-8, found X'ff3c2f61'"),
        (b"<?xml version='1.0' encoding='nonsense'?><a/>", "expected the name of an encoding, found 'nonsense'"),
        (b"<?xml version='1.0' encoding='hex'?><a/>", "expected the name of an encoding, found 'hex'"),
    ],
)
def test_what_is_wrong_in_a_document_is_said(document: str | bytes, expected: str) -> None:
    with pytest.raises(FormatProblem) as raised:
        list(part(document).descendants())
    assert expected in str(raised.value)
