"""A tree as text."""

from heliograph.flow.language import dump_tree
from heliograph.flow.tree import Element


def test_dump_shows_types_names_values_and_children() -> None:
    root = Element("ExceptionList")
    inner = root.append(Element("RecoverableException"))
    inner.append(Element("File", "it's", 0x03000000))
    inner.append(Element("Line", 12, 0x03000000))
    inner.append(Element("Amount", "5", namespace="urn:m")).append(Element("Currency", None, 0x03000000))
    inner.append(Element("", b"\x01\xff", 0x02000000))
    assert dump_tree(root).splitlines() == [
        "(0x1000000)ExceptionList = (",
        "  (0x1000000)RecoverableException = (",
        "    (0x3000000)File = 'it''s'",
        "    (0x3000000)Line = 12",
        "    (0x1000000)urn:m:Amount = '5' (",
        "      (0x3000000)Currency = NULL",
        "    )",
        "    (0x2000000) = X'01ff'",
        "  )",
        ")",
    ]
