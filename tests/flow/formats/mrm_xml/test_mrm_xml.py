"""MRM XML: documents that a model knows, typed both ways; models from XML Schema."""

import pickle
from datetime import date
from decimal import Decimal

import pytest

from flow.formats.modelled import Modelled, build, plain, rewritten
from flow.formats.mrm_xml.xml_values import VALUES
from heliograph.flow.errors import FormatProblem, ModelProblem
from heliograph.flow.formats.model import Models
from heliograph.flow.formats.mrm_xml.mrm_xml_shapes import XSI
from heliograph.flow.tree import Part, Text

ORDER = """<?xml version="1.0"?>
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:simpleType name="Code">
    <xs:restriction base="xs:string"><xs:pattern value="[A-Z]{3}"/></xs:restriction>
  </xs:simpleType>
  <xs:simpleType name="Size">
    <xs:restriction base="xs:string"><xs:enumeration value="small"/><xs:enumeration value="large"/></xs:restriction>
  </xs:simpleType>
  <xs:complexType name="Amount">
    <xs:simpleContent>
      <xs:extension base="xs:decimal"><xs:attribute name="currency" type="Code" use="required"/></xs:extension>
    </xs:simpleContent>
  </xs:complexType>
  <xs:complexType name="Person"><xs:sequence><xs:element name="Name" type="xs:string"/></xs:sequence></xs:complexType>
  <xs:complexType name="Firm">
    <xs:complexContent>
      <xs:extension base="Person"><xs:sequence><xs:element name="Number" type="xs:int"/></xs:sequence></xs:extension>
    </xs:complexContent>
  </xs:complexType>
  <xs:element name="M">
    <xs:complexType>
      <xs:sequence>
        <xs:element name="Buyer" type="Person"/>
        <xs:element name="Day" type="xs:date"/>
        <xs:element name="Note" minOccurs="0" nillable="true">
          <xs:simpleType>
            <xs:restriction base="xs:string"><xs:minLength value="2"/><xs:maxLength value="5"/></xs:restriction>
          </xs:simpleType>
        </xs:element>
        <xs:choice>
          <xs:element name="Cash" type="xs:boolean"/>
          <xs:element name="Card" type="xs:positiveInteger"/>
        </xs:choice>
        <xs:element name="Item" maxOccurs="unbounded">
          <xs:complexType>
            <xs:all>
              <xs:element name="Price" type="Amount"/>
              <xs:element name="Size" type="Size" minOccurs="0"/>
            </xs:all>
          </xs:complexType>
        </xs:element>
        <xs:element name="Weight" type="xs:double" default="1.5"/>
      </xs:sequence>
      <xs:attribute name="id" type="xs:long" use="required"/>
      <xs:attribute name="kind" type="xs:string" default="usual"/>
    </xs:complexType>
  </xs:element>
</xs:schema>
"""
DOCUMENT = (
    '<M id="7" kind="usual"><Buyer><Name>A &amp; B</Name></Buyer><Day>2026-01-31</Day><Note>abc</Note><Card>42</Card>'
    '<Item><Price currency="EUR">12.50</Price></Item>'
    '<Item><Size>small</Size><Price currency="USD">1</Price></Item><Weight>2.5</Weight></M>'
)
TREE = [
    ("id", 7),
    ("kind", "usual"),
    ("Buyer", [("Name", "A & B")]),
    ("Day", date(2026, 1, 31)),
    ("Note", "abc"),
    ("Card", 42),
    ("Item", [("Price", [("currency", "EUR")])]),
    ("Item", [("Size", "small"), ("Price", [("currency", "USD")])]),
    ("Weight", 2.5),
]
RECURSIVE = """<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'>
  <xs:complexType name='T'><xs:sequence><xs:element name='In' type='T'/></xs:sequence></xs:complexType>
  <xs:element name='M' type='T'/>
</xs:schema>"""
SIMPLE = """<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'>
  <xs:element name='A' type='xs:int'/>
</xs:schema>"""
MODELS = Models({"m.xsd": ORDER})
TEXT = Text(message_set="m", message_type="M")


def part(document: str, models: Models = MODELS) -> Part:
    return Part(models.format(TEXT), document.encode(), TEXT)


class TestSchemas:
    def test_give_elements_and_attributes_their_types(self) -> None:
        tree = part(DOCUMENT)
        assert plain(tree) == TREE
        price = tree.children[6].children[0]
        assert price.value == Decimal("12.50")

    def test_give_the_same_bytes_again(self) -> None:
        assert rewritten(part(DOCUMENT)) == DOCUMENT.encode()

    def test_let_nillable_elements_be_null(self) -> None:
        document = DOCUMENT.replace("<Note>abc</Note>", '<Note xsi:nil="true"/>').replace(
            "<M ", f'<M xmlns:xsi="{XSI}" '
        )
        tree = part(document)
        assert ("Note", None) in plain(tree)
        assert rewritten(tree) == document.encode()

    def test_let_empty_elements_have_the_default(self) -> None:
        assert plain(part(DOCUMENT.replace("<Weight>2.5</Weight>", "<Weight/>")))[-1] == ("Weight", 1.5)

    def test_let_missing_attributes_have_the_default(self) -> None:
        assert ("kind", "usual") in plain(part(DOCUMENT.replace(' kind="usual"', "")))

    def test_let_derived_types_stand_for_their_base(self) -> None:
        document = DOCUMENT.replace(
            "<Buyer><Name>A &amp; B</Name></Buyer>", '<Buyer xsi:type="Firm"><Name>A</Name><Number>1</Number></Buyer>'
        ).replace("<M ", f'<M xmlns:xsi="{XSI}" ')
        tree = part(document)
        assert plain(tree)[2] == ("Buyer", [("type", "Firm"), ("Name", "A"), ("Number", 1)])
        assert rewritten(tree) == document.encode()

    def test_can_be_pickled(self) -> None:
        assert plain(part(DOCUMENT, pickle.loads(pickle.dumps(MODELS)))) == TREE

    @pytest.mark.parametrize(
        ("old", "new", "path", "expected"),
        [
            ("<Day>2026-01-31</Day>", "<Day>today</Day>", "Day", "a date like 2026-01-31"),
            ("<Day>2026-01-31</Day>", "", "", "element Day"),
            ("<Note>abc</Note>", "<Note>abcdef</Note>", "Note", "text (2 or more long, at most 5 long)"),
            ("<Card>42</Card>", "<Card>0</Card>", "Card", "an integer of 64 bits (minInclusive 1)"),
            ("<Card>42</Card>", "<Card>1</Card><Cash>1</Cash>", "", "elements in the order of"),
            ("<Card>42</Card>", "<Check>42</Check>", "Check", "one of Buyer, Day"),
            ('currency="USD"', 'currency="usd"', "Item[2].Price.currency", "text (like [A-Z]{3})"),
            (' currency="USD"', "", "Item[2].Price", "attribute currency"),
            ('currency="USD"', 'coin="USD"', "Item[2].Price", "currency"),
            ("<Size>small</Size>", "<Size>tiny</Size>", "Item[2].Size", "text (one of small, large)"),
            ("<Size>small</Size>", "<Size>small</Size><Size>small</Size>", "Item[2]", "at most 1 Size"),
            ("<Size>small</Size>", "some text<Size>small</Size>", "Item[2]", "elements Price, Size"),
            (' id="7"', "", "", "attribute id"),
            ("<Name>", "<Name x='1'>", "Buyer.Name", "no attribute"),
            ("</M>", "</N>", "", "</M>"),
        ],
    )
    def test_make_problems_of_what_they_do_not_allow(self, old: str, new: str, path: str, expected: str) -> None:
        with pytest.raises(FormatProblem) as caught:
            plain(part(DOCUMENT.replace(old, new)))
        if path:
            assert caught.value.path == path
        assert caught.value.expected.startswith(expected)

    def test_name_the_root_that_they_expect(self) -> None:
        with pytest.raises(FormatProblem, match="line 2: expected element M, found element Order"):
            plain(part("<!-- x -->\n<Order/>"))

    def test_make_problems_that_name_the_line(self) -> None:
        document = DOCUMENT.replace("><", ">\n<").replace("<Size>small", "<Size>tiny")
        with pytest.raises(FormatProblem) as caught:
            plain(part(document))
        lines = document.split("\n")
        assert lines[(caught.value.line or 0) - 1] == "<Size>tiny</Size>"

    def test_refuse_to_write_what_they_do_not_allow(self) -> None:
        tree = part(DOCUMENT)
        note = tree.first("Note")
        assert note is not None
        note.set_value("far too long")
        with pytest.raises(FormatProblem, match=r"field Note: expected text \(2 or more long, at most 5 long\)"):
            tree.bytes()

    def test_put_elements_in_their_order_and_add_defaults(self) -> None:
        tree = part(DOCUMENT)
        weight, day = tree.first("Weight"), tree.first("Day")
        assert weight is not None
        assert day is not None
        weight.delete()
        tree.append(day.detach())
        assert tree.bytes() == DOCUMENT.replace("2.5</W", "1.5</W").encode()

    @pytest.mark.parametrize(
        ("schema", "said"),
        [
            ("<xs:schema", "m.xsd:1: cannot use this XML schema"),
            ("<a/>", "m.xsd:1: cannot use this XML schema"),
            (RECURSIVE, "m.xsd:2: In contains itself"),
            (SIMPLE, "m.xsd:1: expected global elements of complex types"),
        ],
        ids=["cut off", "not a schema", "recursive", "nothing to read"],
    )
    def test_that_cannot_be_used_say_why(self, schema: str, said: str) -> None:
        with pytest.raises(ModelProblem) as caught:
            Models({"m.xsd": schema})
        assert str(caught.value).startswith(said)


class TestNamespaces:
    SCHEMA = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:a" xmlns:a="urn:a" {form}>
      <xs:element name="M"><xs:complexType><xs:sequence>
        <xs:element name="A" type="xs:int"/><xs:element name="B" type="xs:string"/>
      </xs:sequence></xs:complexType></xs:element></xs:schema>"""

    def test_of_all_elements_are_the_default_one(self) -> None:
        models = Models({"m.xsd": self.SCHEMA.format(form='elementFormDefault="qualified"')})
        document = '<M xmlns="urn:a"><A>1</A><B>x</B></M>'
        tree = part(document, models)
        assert [(child.namespace, child.name, child.value) for child in tree.children] == [
            ("urn:a", "A", 1),
            ("urn:a", "B", "x"),
        ]
        assert rewritten(tree) == document.encode()
        prefixed = '<p:M xmlns:p="urn:a"><p:A>1</p:A><p:B>x</p:B></p:M>'
        assert plain(part(prefixed, models)) == [("A", 1), ("B", "x")]

    def test_of_the_root_alone_have_a_prefix(self) -> None:
        models = Models({"m.xsd": self.SCHEMA.format(form="")})
        document = '<ns1:M xmlns:ns1="urn:a"><A>1</A><B>x</B></ns1:M>'
        tree = part(document, models)
        assert [(child.namespace, child.value) for child in tree.children] == [("", 1), ("", "x")]
        assert rewritten(tree) == document.encode()

    def test_that_are_wrong_are_a_problem(self) -> None:
        models = Models({"m.xsd": self.SCHEMA.format(form='elementFormDefault="qualified"')})
        with pytest.raises(FormatProblem, match="expected element M of namespace urn:a, found element M"):
            plain(part("<M><A>1</A><B>x</B></M>", models))


class TestModels:
    def test_from_other_files_have_an_xml_format_too(self) -> None:
        document = b'<message><text>a</text><I>1</I><D>2026-01-31</D><G A="x"><L>y</L></G></message>'
        tree = VALUES.read(document)
        assert plain(tree) == [("S", "a"), ("I", 1), ("D", date(2026, 1, 31)), ("G", [("A", "x"), ("L", "y")])]
        assert rewritten(tree) == document

    def test_refuse_names_that_xml_has_not(self) -> None:
        with pytest.raises(ModelProblem, match="'1A' cannot be a name in XML"):
            Modelled("formats: {X: {kind: XML}}\nmessages: {M: {sequence: [{name: 1A, type: string}]}}").read(b"")


MATRIX = Modelled("""
formats:
  CWF1: {kind: CWF, encoding: "819", byteOrder: bigEndian}
  TDS1: {kind: TDS, separator: ";"}
  XML1: {kind: XML}
messages:
  M:
    sequence:
      - {name: A, type: string, CWF1: {length: 5}}
      - {name: B, type: integer, CWF1: {length: 4, representation: binary}}
      - name: C
        TDS1: {separator: ","}
        sequence:
          - {name: D, type: decimal, CWF1: {length: 3, binaryNumberRep: packed, virtualDecimalPoint: 2}}
          - {name: E, type: date, CWF1: {length: 8, representation: text, calendarPattern: yyyyMMdd}}
""")
FORMS = {
    "CWF1": b"abc  \x00\x00\x00\x07\x01\x25\x0c20260131",
    "TDS1": b"abc;7;12.50,2026-01-31",
    "XML1": b"<M><A>abc</A><B>7</B><C><D>12.50</D><E>2026-01-31</E></C></M>",
}


@pytest.mark.parametrize("target", list(FORMS))
@pytest.mark.parametrize("source", list(FORMS))
def test_one_logical_message_goes_from_any_format_to_any_other(source: str, target: str) -> None:
    tree = MATRIX.new([], target)
    build(tree, plain(MATRIX.read(FORMS[source], source)))
    assert tree.bytes() == FORMS[target]
