"""What the three domains of XML have different: types, names and attributes."""

from flow.formats.xml.documents import CATALOGUE, part, written
from heliograph.flow.language.dumping import dump_tree
from heliograph.flow.tree import Element
from heliograph.flow.tree.element_types import Xml, Xmlnsc


def test_blanks_between_elements_are_kept_but_in_xmlnsc() -> None:
    document = "<a>\n  <b/>\n</a>"
    assert written(document, "XML") == document
    assert written(document, "XMLNSC") == "<a><b/></a>"


def test_attribute_is_the_number_three_in_xml_and_a_field_in_xmlnsc() -> None:
    for domain, expected in (("XML", '<a style="new"/>'), ("XMLNSC", "<a><style>new</style></a>")):
        body = CATALOGUE.new_part(domain)
        body.ensure("a").append(Element("style", "new", 0x03000000))
        assert body.bytes().decode() == expected


def test_copy_into_another_domain_keeps_attributes_attributes() -> None:
    source = part('<a x="1"><b><![CDATA[t]]></b>u<!--c--></a>', "XML")
    target = CATALOGUE.new_part("XMLNSC")
    target.take_content(source)
    assert dump_tree(target.children[0]) == dump_tree(part(source.bytes(), "XMLNSC").children[0])
    back = CATALOGUE.new_part("XML")
    back.take_content(target)
    assert back.bytes() == source.bytes()


def test_type_words_are_those_of_the_domain() -> None:
    assert (Xml.ATTRIBUTE, Xmlnsc.ATTRIBUTE) == (0x03000000, 0x03000100)
