"""What XML allows, and what distinguishes its dialects: XML, XMLNS and XMLNSC."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from xml.parsers import expat

from heliograph.flow.language.values.types import character, schema_text
from heliograph.flow.tree.element_types import Xml, Xmlnsc

# Looking for control characters in a document, which has none as a rule: all of it has to be looked at.

_FEW = 2048


def has_any(text: str, controls: bytes) -> bool:
    """Whether one of these characters, all of them ASCII, is in the text."""
    data = text.encode()
    if len(data) <= _FEW:
        return len(data.translate(None, controls)) != len(data)
    # In a long text, one search for every single byte is faster than anything that looks at each byte once.
    return any(map(data.__contains__, controls))


# Names and namespaces.

XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
XMLNS_NAMESPACE = "http://www.w3.org/2000/xmlns/"

NO_PREFIXES = {"": "", "xml": XML_NAMESPACE}
"""What prefixes mean where nothing is declared; the empty one is the default namespace."""

_ASCII_NAME = re.compile(r"[A-Za-z_:][A-Za-z0-9_:.-]*").fullmatch


class Name:
    """A name of a tag or attribute, and how it is written."""

    __slots__ = ("closing", "empty", "end", "local", "prefix", "start")

    def __init__(self, text: str) -> None:
        self.start = f"<{text}>"
        self.end = f"</{text}>"
        self.empty = f"<{text}/>"
        self.closing = f"/{text}>"
        """What follows the `<` of the end tag."""
        before, colon, behind = text.partition(":")
        self.prefix: str | None = ""
        """What is before the colon; None if namespaces do not allow such a name."""
        self.local = text
        if colon:
            self.prefix = None
            if before and ":" not in behind and _ASCII_NAME(behind):
                self.prefix, self.local = before, behind


@lru_cache(maxsize=8192)
def ascii_name(text: str) -> Name | None:
    """A name of ASCII characters; None if it is anything else. Names come again and again, so they are cached."""
    return Name(text) if _ASCII_NAME(text) else None


@lru_cache(maxsize=8192)
def writable(text: str, *, colons: bool) -> bool:
    """Whether a tag can be written with this name: whether it can be read again."""
    if not colons and ":" in text:
        return False
    parser = expat.ParserCreate("utf-8")
    try:
        parser.Parse(f"<{text}/>".encode(), True)
    except (expat.ExpatError, UnicodeEncodeError):
        return False
    return not set(" \t\r\n/=") & set(text)


# What the domains XML, XMLNS and XMLNSC have different: names and types.


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
