"""What XML schemas say, as models."""

import pytest

from flow.formats.modelled import Modelled, plain, rewritten
from heliograph.flow.errors import FormatProblem, ModelProblem
from heliograph.flow.formats.model import Models
from heliograph.flow.formats.mrm_xml.mrm_xml_shapes import XSI
from heliograph.flow.tree import Text


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
