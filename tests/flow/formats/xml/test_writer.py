"""Writing XML: values in their text form, namespaces, and what cannot be written."""

from datetime import date, datetime, time
from decimal import Decimal

import pytest

from flow.formats.xml.documents import CATALOGUE, part
from heliograph.flow.errors import FormatProblem
from heliograph.flow.language.values.times import GmtTimestamp
from heliograph.flow.tree import Element, Text
from heliograph.flow.tree.element_types import NAME, Xmlnsc


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (44.72, "4.472E+1"),
        (12, "12"),
        (Decimal("1.50"), "1.50"),
        (True, "true"),
        (False, "false"),
        (b"\x0a\xff", "0AFF"),
        (None, None),
        ("", None),
    ],
)
def test_values_are_written_in_their_text_form(value: object, text: str | None) -> None:
    body = CATALOGUE.new_part("XMLNSC")
    body.ensure("a").ensure("b").set_value(value)
    assert body.bytes().decode() == ("<a><b/></a>" if text is None else f"<a><b>{text}</b></a>")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (date(2003, 4, 1), "2003-04-01"),
        (time(9, 30, 0, 500_000), "09:30:00.500"),
        (datetime(2003, 4, 1, 9, 30), "2003-04-01T09:30:00"),
        (GmtTimestamp(datetime(2003, 4, 1, 9, 30)), "2003-04-01T09:30:00Z"),
    ],
)
def test_dates_are_written_as_xml_schema_has_them_in_xmlnsc(value: object, text: str) -> None:
    body = CATALOGUE.new_part("XMLNSC")
    body.ensure("a").ensure("b").set_value(value)
    assert body.bytes().decode() == f"<a><b>{text}</b></a>"


@pytest.mark.parametrize("domain", ["XML", "XMLNS"])
@pytest.mark.parametrize(
    ("value", "text"), [(date(2003, 4, 1), "DATE '2003-04-01'"), (True, "TRUE"), (b"\x0a", "X'0a'")]
)
def test_values_are_written_as_cast_has_them_in_xml(domain: str, value: object, text: str) -> None:
    body = CATALOGUE.new_part(domain)
    body.ensure("a").ensure("b").set_value(value)
    assert body.bytes().decode() == f"<a><b>{text}</b></a>"


def test_fields_of_a_model_become_elements_in_xml() -> None:
    source = CATALOGUE.new_part("MRM")
    source.ensure("Order").append(Element("Id", 7, 0x03000000))
    target = CATALOGUE.new_part("XML")
    target.take_content(source)
    assert target.bytes() == b"<Order><Id>7</Id></Order>"


def test_namespace_without_a_prefix_gets_one() -> None:
    body = CATALOGUE.new_part("XMLNSC")
    top = body.append(Element("a", None, NAME, "urn:x"))
    top.append(Element("b", 1, Xmlnsc.FIELD, "urn:x"))
    top.append(Element("c", 2, Xmlnsc.ATTRIBUTE, "urn:y"))
    document = body.bytes().decode()
    assert document == '<NS1:a xmlns:NS1="urn:x" xmlns:NS2="urn:y" NS2:c="2"><NS1:b>1</NS1:b></NS1:a>'


def test_element_without_a_namespace_is_kept_out_of_the_default_one() -> None:
    body = part('<a xmlns="urn:d"/>')
    body.children[0].append(Element("b"))
    assert body.bytes() == b'<a xmlns="urn:d"><b xmlns=""/></a>'


def test_encoding_of_the_declaration_is_written() -> None:
    read = part('<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>'.encode("latin-1"))
    read.ensure("a").set_value("ü€")
    assert read.bytes() == '<?xml version="1.0" encoding="ISO-8859-1"?><a>ü&#8364;</a>'.encode("latin-1")


@pytest.mark.parametrize("content", ["<Ω/>", "<!--Ω-->", "<b><![CDATA[Ω]]></b>", '<b Ω="1"/>'])
def test_character_that_the_encoding_has_not_is_refused_where_no_number_can_stand(content: str) -> None:
    read = part(f"<a>{content}</a>", text=Text(ccsid=1208))
    read.become(read.format, Text(ccsid=819))
    with pytest.raises(FormatProblem, match="names, comments and CDATA sections, found 'Ω'"):
        read.bytes()


@pytest.mark.parametrize(
    ("elements", "expected"),
    [
        (
            [Element("a"), Element("b")],
            "XMLNSC: expected one element at the top of the document, found a, b",
        ),
        ([], "found none"),
        ([Element("a b")], "field a b: expected a name that XML allows, found 'a b'"),
        ([Element("")], "expected a name that XML allows, found ''"),
        ([Element("p:a")], "expected a name that XML allows, found 'p:a'"),
        ([Element("a", "\x02")], "field a: expected characters that XML allows, found U+0002"),
        ([Element("a", "\ud800")], "expected characters that XML allows, found U+D800"),
        ([Element("a"), Element("", "a--b", Xmlnsc.COMMENT)], "expected a comment without --"),
        ([Element("a"), Element("x", "1", Xmlnsc.ATTRIBUTE)], "expected elements at the top of the document"),
    ],
)
def test_what_cannot_be_written_is_said(elements: list[Element], expected: str) -> None:
    root, body = Element("Root"), CATALOGUE.new_part("XMLNSC")
    root.append(body)
    for element in elements:
        body.append(element.copy())
    with pytest.raises(FormatProblem) as raised:
        body.bytes()
    assert expected in str(raised.value)
    assert raised.value.number == 5010
