"""The domains XML, XMLNS and XMLNSC."""

import pickle

import pytest

from flow.formats.xml.documents import CATALOGUE, part, shown, written
from heliograph.flow.errors import FormatProblem


@pytest.mark.parametrize(
    ("document", "domain", "expected"),
    [
        (
            "<a><b>1</b><c/></a>",
            "XML",
            ["XML = (", "  a = (", "    b = '1'", "    c = ''", "  )", ")"],
        ),
        (
            '<a x="1">t</a>',
            "XML",
            ["XML = (", "  a = 't' (", "    (0x3000000)x = '1'", "  )", ")"],
        ),
        (
            "<a>x<b/>y <c/></a>",
            "XML",
            [
                "XML = (",
                "  a = (",
                "    (0x2000000) = 'x'",
                "    b = ''",
                "    (0x2000000) = 'y '",
                "    c = ''",
                "  )",
                ")",
            ],
        ),
        (
            "<a> <b/>\n</a>",
            "XML",
            ["XML = (", "  a = (", "    (0x6000002) = ' '", "    b = ''", "    (0x6000002) = '\n'", "  )", ")"],
        ),
        (
            "<p:a xmlns:p='urn:p'/>",
            "XML",
            ["XML = (", "  p:a = '' (", "    (0x3000000)xmlns:p = 'urn:p'", "  )", ")"],
        ),
        (
            "<p:a xmlns:p='urn:p' xmlns='urn:d' p:x='1' y='2'><b/></p:a>",
            "XMLNS",
            [
                "XMLNS = (",
                "  urn:p:a = (",
                "    (0x7000011)xmlns:p = 'urn:p'",
                "    (0x7000011)xmlns = 'urn:d'",
                "    (0x3000000)urn:p:x = '1'",
                "    (0x3000000)y = '2'",
                "    urn:d:b = ''",
                "  )",
                ")",
            ],
        ),
        (
            "<?xml version='1.0' encoding='UTF-8'?>\n<a>\n <b x='1'>t</b>\n</a>",
            "XMLNSC",
            [
                "XMLNSC = (",
                "  (0x1000400)XmlDeclaration = (",
                "    (0x3000100)Version = '1.0'",
                "    (0x3000100)Encoding = 'UTF-8'",
                "  )",
                "  a = (",
                "    (0x3000000)b = 't' (",
                "      (0x3000100)x = '1'",
                "    )",
                "  )",
                ")",
            ],
        ),
        (
            "<a><!--c--><?p d?><b><![CDATA[<&]]></b>t<![CDATA[u]]></a>",
            "XMLNSC",
            [
                "XMLNSC = (",
                "  a = (",
                "    (0x3000400) = 'c'",
                "    (0x3000401)p = 'd'",
                "    (0x3000001)b = '<&'",
                "    (0x2000000) = 't'",
                "    (0x2000001) = 'u'",
                "  )",
                ")",
            ],
        ),
        (
            "<a>x<!--c--></a>",
            "XMLNSC",
            ["XMLNSC = (", "  (0x3000000)a = 'x' (", "    (0x3000400) = 'c'", "  )", ")"],
        ),
        (
            "<a><!--c-->x<!--d-->y</a>",
            "XMLNSC",
            [
                "XMLNSC = (",
                "  a = (",
                "    (0x3000400) = 'c'",
                "    (0x2000000) = 'x'",
                "    (0x3000400) = 'd'",
                "    (0x2000000) = 'y'",
                "  )",
                ")",
            ],
        ),
    ],
)
def test_document_as_a_tree(document: str, domain: str, expected: list[str]) -> None:
    assert shown(document, domain).replace("(0x1000000)", "") == "\n".join(expected)


@pytest.mark.parametrize("domain", ["XML", "XMLNS", "XMLNSC"])
@pytest.mark.parametrize(
    "document",
    [
        "<a/>",
        '<?xml version="1.0"?><a><b>1</b><b>2</b></a>',
        '<a x="1" y="&lt;&amp;&quot;&apos;&gt;&#10;"><b z=""/>text<c>&lt;&amp;&gt;</c></a>',
        '<p:a xmlns:p="urn:p" p:x="1"><p:b/><c/></p:a>',
        '<a xmlns="urn:d"><b><c xmlns=""><d/></c></b></a>',
        "<a><![CDATA[<]]>x<![CDATA[]]></a>",
        "<a><b><![CDATA[&]]></b></a>",
        "<!--c--><?p d?><a>x<!--c--><b/></a>",
        '<größe einheit="µ">日本 &#13;</größe>',
    ],
)
def test_written_as_it_was_read(document: str, domain: str) -> None:
    assert written(document, domain) == document


@pytest.mark.parametrize("domain", ["XML", "XMLNS", "XMLNSC"])
def test_untouched_document_keeps_its_bytes(domain: str) -> None:
    document = b"<?xml  version = '1.0' ?>\r\n<a  x = '1' ><b></b>&#x41;</a >\n"
    read = part(document, domain)
    assert len(list(read.descendants())) >= 3
    assert read.bytes() == document


def test_formats_and_problems_can_be_pickled() -> None:
    catalogue = pickle.loads(pickle.dumps(CATALOGUE))
    assert catalogue.format("XML").domain == "XML"
    again = pickle.loads(pickle.dumps(FormatProblem("XML", "x", "y", path="a.b", line=1, column=2)))
    assert str(again) == "XML, line 1, column 2, field a.b: expected x, found y"
