"""Constants that are there without being declared."""

import pytest

from heliograph.flow.language.esql.names import constant_of
from heliograph.flow.language.esql.parsing.program_parsing import parse_expression
from heliograph.flow.language.esql.syntax import FieldReference


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("MQMT_REPLY", 2),
        ("mqfmt_string", "MQSTR   "),
        ("ValidateNone", 0),
        ("NameValue", 0x03000000),
        ("XML.Attribute", 0x03000000),
        ("XMLNSC.Attribute", 0x03000100),
        ("xmlnsc.attribute", 0x03000100),
        ("XMLNSC.Atribute", None),
        ("XML.Attribute[1]", None),
        ("XML.Attribute.Name", None),
        ("InputRoot", None),
        ("InputRoot.XML", None),
    ],
)
def test_a_name_that_is_a_constant_has_its_value(text: str, value: object) -> None:
    reference = parse_expression(text)
    assert isinstance(reference, FieldReference)
    assert constant_of(reference) == value
