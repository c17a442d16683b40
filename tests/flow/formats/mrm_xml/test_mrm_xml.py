"""MRM XML: documents that a model knows, typed both ways; models from XML Schema."""

import pickle
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from flow.formats.modelled import Modelled, build, plain, rewritten
from heliograph.flow.formats.format_problem import FormatProblem
from heliograph.flow.formats.model import ModelProblem, Models
from heliograph.flow.tree import Part, Text

XSI = "http://www.w3.org/2001/XMLSchema-instance"

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


VALUES = Modelled("""
formats:
  X: {kind: XML}
messages:
  M:
    X: {xmlName: message}
    sequence:
      - {name: S, type: string, X: {xmlName: text}}
      - {name: I, type: integer, occurs: 0..1}
      - {name: N, type: decimal, occurs: 0..1}
      - {name: F, type: float, occurs: 0..1}
      - {name: B, type: boolean, occurs: 0..1}
      - {name: X, type: binary, occurs: 0..1, X: {binaryEncoding: base64}}
      - {name: D, type: date, occurs: 0..1}
      - {name: T, type: time, occurs: 0..1}
      - {name: W, type: dateTime, occurs: 0..1}
      - name: G
        occurs: 0..*
        sequence:
          - {name: A, type: string, occurs: 0..1, X: {rendering: attribute}}
          - {name: L, type: string, occurs: 0..*}
""")

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]), max_size=8) | st.sampled_from(
    ["<&>\"'", " a ", "a\nb\tc", "\r", "]]>", ""]
)
OPTIONAL: dict[str, st.SearchStrategy[Any]] = {
    "I": st.integers(-(10**12), 10**12),
    "N": st.decimals(-1000, 1000, places=3),
    "F": st.floats(allow_nan=False),
    "B": st.booleans(),
    "X": st.binary(max_size=5),
    "D": st.dates(),
    "T": st.times(),
    "W": st.datetimes(),
}


@st.composite
def messages(draw: st.DrawFn) -> list[tuple[str, Any]]:
    tree: list[tuple[str, Any]] = [("S", draw(TEXTS))]
    tree += [(name, draw(values)) for name, values in OPTIONAL.items() if draw(st.booleans())]
    for _ in range(draw(st.integers(0, 2))):
        attribute = [("A", draw(TEXTS))] if draw(st.booleans()) else []
        tree.append(("G", [*attribute, *(("L", text) for text in draw(st.lists(TEXTS, max_size=2)))]))
    return tree


class TestModels:
    def test_from_other_files_have_an_xml_format_too(self) -> None:
        document = b'<message><text>a</text><I>1</I><D>2026-01-31</D><G A="x"><L>y</L></G></message>'
        tree = VALUES.read(document)
        assert plain(tree) == [("S", "a"), ("I", 1), ("D", date(2026, 1, 31)), ("G", [("A", "x"), ("L", "y")])]
        assert rewritten(tree) == document

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("<T>23:59:58.5</T>", time(23, 59, 58, 500000)),
            ("<W>2026-01-31T12:00:00+02:00</W>", datetime(2026, 1, 31, 10)),
            ("<B> 1 </B>", True),
            ("<F>-INF</F>", float("-inf")),
            ("<I> +7\n</I>", 7),
            ("<X>AP8=</X>", b"\x00\xff"),
            ("<I><!-- seven -->7</I>", 7),
            ("<I><![CDATA[7]]></I>", 7),
        ],
    )
    def test_read_what_xml_schema_allows(self, text: str, value: Any) -> None:
        assert plain(VALUES.read(f"<message><text>a</text>{text}</message>".encode()))[1][1] == value

    @pytest.mark.parametrize(
        "text", ["<I>1_0</I>", "<N>1e5</N>", "<F>inf</F>", "<B>yes</B>", "<X>?</X>", "<T>24</T>", "<I/>"]
    )
    def test_refuse_what_it_does_not(self, text: str) -> None:
        with pytest.raises(FormatProblem):
            plain(VALUES.read(f"<message><text>a</text>{text}</message>".encode()))

    def test_refuse_what_comes_first_of_two_mistakes(self) -> None:
        # Long enough to be read in pieces: the tag that never ends is in another one.
        document = b'<message><text>a</text>\n<G A="x">text<L>y</L></G>' + b'<G A="x"><L>y</L></G>' * 30 + b"<G"
        with pytest.raises(FormatProblem, match="line 2, field G: expected elements L, found text 'text'"):
            plain(VALUES.read(document))

    def test_refuse_to_write_characters_that_xml_has_not(self) -> None:
        with pytest.raises(FormatProblem, match=r"field S: expected characters that XML allows, found U\+0001"):
            VALUES.write([("S", "a\x01")])

    def test_refuse_names_that_xml_has_not(self) -> None:
        with pytest.raises(ModelProblem, match="'1A' cannot be a name in XML"):
            Modelled("formats: {X: {kind: XML}}\nmessages: {M: {sequence: [{name: 1A, type: string}]}}").read(b"")

    @given(messages())
    @settings(max_examples=150, deadline=None)
    def test_read_again_what_they_write(self, values: list[tuple[str, Any]]) -> None:
        data = VALUES.write(values)
        etree.fromstring(data)
        tree = VALUES.read(data)
        assert plain(tree) == [(name, value) for name, value in values if value != []] or _empty_groups(values)
        assert rewritten(tree) == data

    @given(messages())
    @settings(max_examples=80, deadline=None)
    def test_read_usual_documents_as_all_others(self, values: list[tuple[str, Any]]) -> None:
        data = VALUES.write(values)
        commented = data.replace(b"<message>", b"<message><!-- unusual -->")
        assert plain(VALUES.read(data)) == plain(VALUES.read(commented))


def _empty_groups(values: list[tuple[str, Any]]) -> bool:
    """Whether there are groups with nothing in them, which look like fields without a value when made plain."""
    return any(value == [] for _, value in values)


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


def schema(content: str) -> Modelled:
    """A model of a schema with an element M of this content, and what else is needed."""
    text = f"""<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:simpleType name="Size"><xs:union memberTypes="xs:int Word"/></xs:simpleType>
  <xs:simpleType name="Word">
    <xs:restriction base="xs:string"><xs:enumeration value="small"/></xs:restriction>
  </xs:simpleType>
  <xs:group name="AB"><xs:sequence>
    <xs:element name="A" type="xs:int"/><xs:element name="B" type="xs:string" minOccurs="0"/>
  </xs:sequence></xs:group>
  {content}
</xs:schema>"""
    return Modelled("import: [{file: s.xsd}]\nformats: {}\n", **{"s.xsd": text})


def content(inside: str) -> Modelled:
    return schema(f'<xs:element name="M"><xs:complexType>{inside}</xs:complexType></xs:element>')


A, B = '<xs:element name="A" type="xs:int"/>', '<xs:element name="B" type="xs:string" minOccurs="0"/>'


class TestRepetitionOfTheOutermostGroup:
    @pytest.mark.parametrize(
        "inside",
        [
            f'<xs:choice maxOccurs="unbounded">{A}{B}</xs:choice>',
            f'<xs:sequence maxOccurs="3">{A}{B}</xs:sequence>',
            '<xs:group ref="AB" minOccurs="2" maxOccurs="unbounded"/>',
            f'<xs:choice maxOccurs="unbounded">{A}{B}</xs:choice><xs:attribute name="id" type="xs:int"/>',
            f'<xs:sequence maxOccurs="3">{A}{B}</xs:sequence><xs:attribute name="id" type="xs:int"/>',
            f'<xs:choice maxOccurs="unbounded"><xs:sequence>{A}{B}</xs:sequence></xs:choice>',
        ],
    )
    def test_is_read_and_written(self, inside: str) -> None:
        data = b"<M><A>1</A><B>x</B><A>2</A><B>y</B></M>"
        part = content(inside).read(data)
        assert plain(part) == [("A", 1), ("B", "x"), ("A", 2), ("B", "y")]
        assert rewritten(part) == data

    def test_has_a_limit(self) -> None:
        model = content(f'<xs:sequence maxOccurs="2">{A}{B}</xs:sequence>')
        with pytest.raises(FormatProblem, match="expected elements in the order of A, B, found A, A, A"):
            plain(model.read(b"<M><A>1</A><A>2</A><A>3</A></M>"))

    @pytest.mark.parametrize("kind", ["sequence", "choice", "all"])
    def test_can_be_none_at_all(self, kind: str) -> None:
        model = content(f'<xs:{kind} minOccurs="0">{A}{B}</xs:{kind}>')
        assert plain(model.read(b"<M></M>")) == []
        assert model.write([]) == b"<M/>"
        assert plain(model.read(b"<M><A>1</A></M>")) == [("A", 1)]

    def test_of_any_order_must_have_all_if_it_is_there(self) -> None:
        model = content(f'<xs:all minOccurs="0">{A}{B}</xs:all>')
        with pytest.raises(FormatProblem, match="expected element A, found none"):
            plain(model.read(b"<M><B>x</B></M>"))


def test_elements_that_a_derived_type_adds_to_a_choice_follow_it() -> None:
    model = schema("""
      <xs:complexType name="T"><xs:choice maxOccurs="2">
        <xs:element name="A" type="xs:int"/></xs:choice></xs:complexType>
      <xs:complexType name="U"><xs:complexContent><xs:extension base="T"><xs:sequence>
        <xs:element name="C" type="xs:int"/></xs:sequence></xs:extension></xs:complexContent></xs:complexType>
      <xs:element name="M"><xs:complexType><xs:sequence><xs:element name="T" type="T"/></xs:sequence></xs:complexType>
      </xs:element>""")
    data = f'<M><T xmlns:xsi="{XSI}" xsi:type="U"><A>1</A><A>2</A><C>3</C></T></M>'.encode()
    assert plain(model.read(data)) == [("T", [("type", "U"), ("A", 1), ("A", 2), ("C", 3)])]


def test_a_union_is_text() -> None:
    model = content("""<xs:sequence><xs:element name="S" type="Size"/><xs:element name="N"><xs:simpleType>
      <xs:restriction base="Size"><xs:enumeration value="1"/><xs:enumeration value="small"/></xs:restriction>
      </xs:simpleType></xs:element></xs:sequence><xs:attribute name="s" type="Size" default="7"/>""")
    data = b'<M s="small"><S>12</S><N>1</N></M>'
    part = model.read(data)
    assert plain(part) == [("s", "small"), ("S", "12"), ("N", "1")]
    assert rewritten(part) == data
    with pytest.raises(FormatProblem, match="one of 1, small"):
        plain(model.read(b"<M><S>12</S><N>2</N></M>"))


def test_limits_that_are_wider_than_our_integers_do_not_matter() -> None:
    limits = '<xs:minInclusive value="1"/><xs:maxInclusive value="18446744073709551615"/>'
    kind = f'<xs:simpleType><xs:restriction base="xs:unsignedLong">{limits}</xs:restriction></xs:simpleType>'
    model = content(f'<xs:sequence><xs:element name="N">{kind}</xs:element></xs:sequence>')
    assert plain(model.read(b"<M><N>7</N></M>")) == [("N", 7)]
    with pytest.raises(FormatProblem, match="minInclusive 1"):
        plain(model.read(b"<M><N>0</N></M>"))


def test_an_element_with_text_and_attributes_only_has_a_value() -> None:
    model = content('<xs:sequence><xs:element name="N"><xs:complexType mixed="true"/></xs:element></xs:sequence>')
    assert plain(model.read(b"<M><N>text</N></M>")) == [("N", "text")]


def test_elements_that_no_model_can_have_do_not_keep_the_others_from_being_messages() -> None:
    text = f"""<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
<xs:element name="Bad"><xs:complexType><xs:sequence><xs:any/></xs:sequence></xs:complexType></xs:element>
<xs:element name="M"><xs:complexType><xs:sequence>{A}</xs:sequence></xs:complexType></xs:element>
</xs:schema>"""
    models = Models({"s.xsd": text})
    assert list(models.models["s"].messages) == ["M"]
    with pytest.raises(ModelProblem, match=r"s\.xsd:2: xs:any: a model must know its elements"):
        models.find(Text(message_set="s", message_type="Bad"))


class TestSchemasOfSeveralFiles:
    MAIN = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="urn:a" xmlns:b="urn:b"
  targetNamespace="urn:a" elementFormDefault="qualified">
  <!-- <xs:include schemaLocation="nowhere.xsd"/> -->
  <xs:include schemaLocation="types.xsd"/>
  <xs:import namespace="urn:b" schemaLocation="b.xsd"/>
  <xs:element name="M"><xs:complexType><xs:sequence>
    <xs:element name="A" type="T"/>
    <xs:element ref="b:B"/>
    <xs:element name="C" nillable="true" minOccurs="0"><xs:complexType><xs:sequence>
      <xs:element name="D" type="xs:int"/>
    </xs:sequence></xs:complexType></xs:element>
  </xs:sequence></xs:complexType></xs:element>
</xs:schema>"""
    TYPES = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:simpleType name="T"><xs:restriction base="xs:int"/></xs:simpleType>
</xs:schema>"""
    B = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:b">
  <xs:element name="B" type="xs:string"/>
</xs:schema>"""
    START = b'<ns1:M xmlns:ns1="urn:a" xmlns:ns2="urn:b"'

    def part(self, inside: bytes, **files: str) -> Part:
        sources = {"s.xsd": self.MAIN, "types.xsd": self.TYPES, "b.xsd": self.B}
        text = Text(message_set="s", message_type="M")
        return Part(Models(sources).format(text), self.START + inside + b"</ns1:M>", text)

    def test_include_and_import_files_beside_them(self) -> None:
        part = self.part(b"><ns1:A>7</ns1:A><ns2:B>x</ns2:B>")
        assert plain(part) == [("A", 7), ("B", "x")]
        assert rewritten(part) == part.bytes()

    def test_make_only_one_model_of_all_their_files(self) -> None:
        sources = {"b.xsd": self.B, "s.xsd": self.MAIN, "types.xsd": self.TYPES}
        assert list(Models(sources).models) == ["s"]

    @pytest.mark.parametrize("location", ["./types.xsd", "../common/types.xsd"])
    def test_take_the_file_beside_them_for_a_relative_path(self, location: str) -> None:
        sources = {"s.xsd": self.MAIN.replace("types.xsd", location), "types.xsd": self.TYPES, "b.xsd": self.B}
        assert list(Models(sources).models) == ["s"]

    @pytest.mark.parametrize(
        "location", ["../missing.xsd", "/etc/types.xsd", "http://example.com/types.xsd", "missing.xsd"]
    )
    def test_include_nothing_from_elsewhere(self, location: str) -> None:
        sources = {"s.xsd": self.MAIN.replace("types.xsd", location), "types.xsd": self.TYPES, "b.xsd": self.B}
        with pytest.raises(ModelProblem, match=r"s\.xsd:4: schemaLocation: expected the name of a file beside"):
            Models(sources)

    def test_say_the_line_of_a_mistake_in_another_file(self) -> None:
        recursive = self.B.replace(
            '<xs:element name="B" type="xs:string"/>',
            '<xs:element name="B" type="R"/>\n<xs:complexType name="R"><xs:sequence>\n'
            '<xs:element name="Inner" type="R"/></xs:sequence></xs:complexType>',
        ).replace('targetNamespace="urn:b"', 'targetNamespace="urn:b" xmlns="urn:b"')
        with pytest.raises(ModelProblem, match=r"b\.xsd:4: Inner contains itself"):
            Models({"s.xsd": self.MAIN, "types.xsd": self.TYPES, "b.xsd": recursive})

    NULL = (
        b' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        b'<ns1:A>7</ns1:A><ns2:B>x</ns2:B><ns1:C xsi:nil="true"/>'
    )

    def test_let_groups_be_null(self) -> None:
        part = self.part(self.NULL)
        assert plain(part) == [("A", 7), ("B", "x"), ("C", [("nil", "true")])]
        assert rewritten(part) == self.START + self.NULL + b"</ns1:M>"

    def test_refuse_null_groups_that_must_not_be(self) -> None:
        self.MAIN = self.MAIN.replace('nillable="true" ', "")
        with pytest.raises(FormatProblem, match="field C: expected an element that is not null, found xsi:nil"):
            _ = self.part(self.NULL).children
