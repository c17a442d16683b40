"""The domains XML, XMLNS and XMLNSC."""

import pickle
from datetime import date, datetime, time
from decimal import Decimal

import pytest

from heliograph.flow.formats import Catalogue, FormatProblem
from heliograph.flow.language import dump
from heliograph.flow.language.values.zone import GmtTimestamp
from heliograph.flow.tree import Element, Part, Text
from heliograph.flow.tree.element_types import NAME, Xml, Xmlnsc

CATALOGUE = Catalogue()


def part(document: str | bytes, domain: str = "XMLNSC", text: Text = Text()) -> Part:  # noqa: B008
    return CATALOGUE.part_of(domain, document.encode() if isinstance(document, str) else document, text)


def written(document: str | bytes, domain: str = "XMLNSC", text: Text = Text()) -> str:  # noqa: B008
    """What is written if something has changed, but the elements are the same."""
    read = part(document, domain, text)
    _ = read.children
    read.touch()
    return read.bytes().decode()


def shown(document: str, domain: str) -> str:
    return dump(part(document, domain))


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


def test_blanks_between_elements_are_kept_but_in_xmlnsc() -> None:
    document = "<a>\n  <b/>\n</a>"
    assert written(document, "XML") == document
    assert written(document, "XMLNSC") == "<a><b/></a>"


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


def test_attribute_is_the_number_three_in_xml_and_a_field_in_xmlnsc() -> None:
    for domain, expected in (("XML", '<a style="new"/>'), ("XMLNSC", "<a><style>new</style></a>")):
        body = CATALOGUE.new_part(domain)
        body.ensure("a").append(Element("style", "new", 0x03000000))
        assert body.bytes().decode() == expected


def test_copy_into_another_domain_keeps_attributes_attributes() -> None:
    source = part('<a x="1"><b><![CDATA[t]]></b>u<!--c--></a>', "XML")
    target = CATALOGUE.new_part("XMLNSC")
    target.take_content(source)
    assert dump(target.children[0]) == dump(part(source.bytes(), "XMLNSC").children[0])
    back = CATALOGUE.new_part("XML")
    back.take_content(target)
    assert back.bytes() == source.bytes()


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


def test_early_field_is_found_without_reading_the_rest() -> None:
    top = part("<a>" + "<b>text</b>" * 10_000 + "<<<</a>").ensure("a")
    assert top.nth("b", 3) is not None
    assert len(top.loaded or ()) < 500
    with pytest.raises(FormatProblem):
        top.first("c")


def test_early_field_of_a_small_document_is_found_without_reading_the_rest() -> None:
    fields = "".join(f"<f{number}>some text</f{number}>" for number in range(30))
    top = part(f"<a><b>1</b>{fields}<broken></a>").ensure("a")
    assert top.value_of("b") == "1"
    with pytest.raises(FormatProblem):
        top.value_of("missing")


def test_early_field_of_a_small_document_that_has_come_before_is_found_without_making_elements() -> None:
    fields = "".join(f"<f{number}>text</f{number}>" for number in range(30))
    for number in range(3):
        top = part(f"<a><b>{number}</b>{fields}</a>").ensure("a")
        assert top.value_of("b") == str(number)
    assert top.loaded is None
    assert [child.value for child in top.children] == ["2", *["text"] * 30]


def test_early_field_is_found_without_reading_the_rest_behind_a_comment() -> None:
    top = part("<a><!--c-->" + "<b>text</b>" * 10_000 + "<<<</a>").ensure("a")
    assert top.nth("b", 3) is not None
    assert len(top.loaded or ()) < 1500


def test_value_of_an_element_that_is_not_read_yet_is_final() -> None:
    long = "x" * 10_000
    top = part(f"<a><b>{long}<c/></b></a>", "XML").children[0]
    b = top.first("b")
    assert b is not None
    assert b.value is None
    assert [child.value for child in b.children] == [long, ""]


def test_element_can_be_deleted_and_changed_while_the_rest_is_unread() -> None:
    read = part("<a>" + "<b><c>text</c></b>" * 2000 + "</a>")
    top = read.ensure("a")
    first = top.first("b")
    assert first is not None
    first.delete()
    top.set_value("v")
    assert top.count("b") == 1999
    assert top.value == "v"


def test_type_words_are_those_of_the_domain() -> None:
    assert (Xml.ATTRIBUTE, Xmlnsc.ATTRIBUTE) == (0x03000000, 0x03000100)


def test_formats_and_problems_can_be_pickled() -> None:
    catalogue = pickle.loads(pickle.dumps(CATALOGUE))
    assert catalogue.format("XML").domain == "XML"
    again = pickle.loads(pickle.dumps(FormatProblem("XML", "x", "y", path="a.b", line=1, column=2)))
    assert str(again) == "XML, line 1, column 2, field a.b: expected x, found y"


@pytest.mark.parametrize("domain", ["XML", "XMLNS", "XMLNSC"])
def test_documents_with_the_same_tags_have_trees_of_their_own(domain: str) -> None:
    trees = [part(f'<same:a xmlns:same="urn:s"><b x="1">{n}</b> <c>&lt;{n}</c></same:a>', domain) for n in range(5)]
    for tree in trees:
        tree.children[0].ensure("b").append(Element("new"))
    for number, tree in enumerate(trees):
        b = tree.children[0].first("b")
        c = tree.children[0].first("c")
        assert b is not None
        assert c is not None
        assert (b.value, c.value) == (str(number), f"<{number}")
        assert [child.name for child in b.children] == ["x", "new"]
        assert c.parent is tree.children[0]
