"""What the domains XML, XMLNS and XMLNSC have different: names and types."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from heliograph.flow.language.values.text import character, schema_text
from heliograph.flow.tree.types import Xml, Xmlnsc


@dataclass(frozen=True, slots=True)
class Dialect:
    """One domain."""

    domain: str
    namespaces: bool
    """Whether `p:name` is a name in a namespace, or just a name."""
    keeps_space: bool
    """Whether blanks between elements are elements too."""
    folder: int
    """The type of an element that has other elements or text among its children."""
    leaf: int
    """The type of an element that has attributes and a value at most."""
    cdata_leaf: int
    text: int
    cdata: int
    white_space: int
    attribute: int
    namespace_declaration: int
    comment: int
    instruction: int
    declaration: int
    declaration_name: str
    version: int
    encoding: int
    standalone: int
    text_of: Callable[[Any], str]
    """How a value that is not text is written: as CAST has it, or as XML Schema has it."""


def _generic(domain: str, *, namespaces: bool) -> Dialect:
    return Dialect(
        domain=domain,
        namespaces=namespaces,
        keeps_space=True,
        folder=Xml.ELEMENT,
        leaf=Xml.ELEMENT,
        cdata_leaf=Xml.CDATA_ELEMENT,
        text=Xml.CONTENT,
        cdata=Xml.CDATA_SECTION,
        white_space=Xml.WHITE_SPACE,
        attribute=Xml.ATTRIBUTE,
        namespace_declaration=Xml.NAMESPACE_DECL,
        comment=Xml.COMMENT,
        instruction=Xml.PI,
        declaration=Xml.XML_DECL,
        declaration_name="XmlDecl",
        version=Xml.VERSION,
        encoding=Xml.ENCODING,
        standalone=Xml.STANDALONE,
        text_of=character,
    )


XML = _generic("XML", namespaces=False)
XMLNS = _generic("XMLNS", namespaces=True)
XMLNSC = Dialect(
    domain="XMLNSC",
    namespaces=True,
    keeps_space=False,
    folder=Xmlnsc.FOLDER,
    leaf=Xmlnsc.FIELD,
    cdata_leaf=Xmlnsc.CDATA_FIELD,
    text=Xmlnsc.VALUE,
    cdata=Xmlnsc.CDATA_VALUE,
    white_space=Xmlnsc.VALUE,
    attribute=Xmlnsc.ATTRIBUTE,
    namespace_declaration=Xmlnsc.NAMESPACE_DECL,
    comment=Xmlnsc.COMMENT,
    instruction=Xmlnsc.PI,
    declaration=Xmlnsc.XML_DECLARATION,
    declaration_name="XmlDeclaration",
    version=Xmlnsc.ATTRIBUTE,
    encoding=Xmlnsc.ATTRIBUTE,
    standalone=Xmlnsc.ATTRIBUTE,
    text_of=schema_text,
)
