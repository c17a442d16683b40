"""XML schemas of several files."""

import pytest

from flow.formats.modelled import plain, rewritten
from heliograph.flow.errors import FormatProblem, ModelProblem
from heliograph.flow.formats.model import Models
from heliograph.flow.tree import Part, Text


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
