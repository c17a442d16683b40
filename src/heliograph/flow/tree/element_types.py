"""The type word of an element: its top byte says what it is in any format, the rest belongs to the domain.

Domains use the same numbers for different things (0x03000000 is an attribute in XML, a field in XMLNSC and MRM), so a
copy from one domain to another goes by the *role* of an element: what it is, whatever its number.
"""

from collections.abc import Mapping
from enum import Enum, auto

NAME = 0x01000000
"""A name without a value of its own: a folder."""
VALUE = 0x02000000
"""A value without a name."""
NAME_VALUE = 0x03000000
"""A name with a value."""

KIND_MASK = 0x03000000


class Role(Enum):
    """What an element is, whatever its domain."""

    ELEMENT = auto()
    TEXT = auto()
    CDATA = auto()
    CDATA_ELEMENT = auto()
    WHITE_SPACE = auto()
    ATTRIBUTE = auto()
    NAMESPACE = auto()
    COMMENT = auto()
    INSTRUCTION = auto()
    DECLARATION = auto()
    VERSION = auto()
    ENCODING = auto()
    STANDALONE = auto()
    ARRAY = auto()


class Xml:
    """Type words of the domains XML and XMLNS."""

    ELEMENT = NAME
    CDATA_ELEMENT = 0x01000001
    """An element whose value stands in a CDATA section."""
    CONTENT = VALUE
    ATTRIBUTE = NAME_VALUE
    CDATA_SECTION = 0x06000001
    WHITE_SPACE = 0x06000002
    NAMESPACE_DECL = 0x07000011
    COMMENT = 0x06000018
    PI = 0x07000012
    XML_DECL = 0x05000018
    VERSION = 0x06000011
    ENCODING = 0x06000012
    STANDALONE = 0x06000014


class Xmlnsc:
    """Type words of the domain XMLNSC. An odd number is a variant (CDATA, other quotes) of the even one before it."""

    FOLDER = NAME
    VALUE = VALUE
    CDATA_VALUE = 0x02000001
    FIELD = NAME_VALUE
    CDATA_FIELD = 0x03000001
    ATTRIBUTE = 0x03000100
    SINGLE_ATTRIBUTE = 0x03000101
    NAMESPACE_DECL = 0x03000102
    SINGLE_NAMESPACE_DECL = 0x03000103
    COMMENT = 0x03000400
    PI = 0x03000401
    XML_DECLARATION = 0x01000400
    ELEMENT = 0x01000080
    """A folder or a field, in a path that does not care which."""
    BASE64 = 0x00000060
    """Added to the type of a field or an attribute: bytes in it are written as base64."""


class Json:
    """Type words of the domain JSON. A folder without children is an object only if its type says so, else null."""

    OBJECT = 0x01002000
    VALUE = NAME_VALUE
    ARRAY = 0x01001000


_XML_ROLES = {
    Xml.ELEMENT: Role.ELEMENT,
    Xml.CDATA_ELEMENT: Role.CDATA_ELEMENT,
    Xml.CONTENT: Role.TEXT,
    Xml.ATTRIBUTE: Role.ATTRIBUTE,
    Xml.CDATA_SECTION: Role.CDATA,
    Xml.WHITE_SPACE: Role.WHITE_SPACE,
    Xml.NAMESPACE_DECL: Role.NAMESPACE,
    Xml.COMMENT: Role.COMMENT,
    Xml.PI: Role.INSTRUCTION,
    Xml.XML_DECL: Role.DECLARATION,
    Xml.VERSION: Role.VERSION,
    Xml.ENCODING: Role.ENCODING,
    Xml.STANDALONE: Role.STANDALONE,
}
_XMLNSC_ROLES = {
    Xmlnsc.FOLDER: Role.ELEMENT,
    Xmlnsc.VALUE: Role.TEXT,
    Xmlnsc.CDATA_VALUE: Role.CDATA,
    Xmlnsc.FIELD: Role.ELEMENT,
    Xmlnsc.CDATA_FIELD: Role.CDATA_ELEMENT,
    Xmlnsc.ATTRIBUTE: Role.ATTRIBUTE,
    Xmlnsc.SINGLE_ATTRIBUTE: Role.ATTRIBUTE,
    Xmlnsc.NAMESPACE_DECL: Role.NAMESPACE,
    Xmlnsc.SINGLE_NAMESPACE_DECL: Role.NAMESPACE,
    Xmlnsc.COMMENT: Role.COMMENT,
    Xmlnsc.PI: Role.INSTRUCTION,
    Xmlnsc.XML_DECLARATION: Role.DECLARATION,
    Xmlnsc.ATTRIBUTE + Xmlnsc.BASE64: Role.ATTRIBUTE,
}
_JSON_ROLES = {Json.OBJECT: Role.ELEMENT, Json.VALUE: Role.ELEMENT, Json.ARRAY: Role.ARRAY}

ROLES: Mapping[str, Mapping[int, Role]] = {
    "XML": _XML_ROLES,
    "XMLNS": _XML_ROLES,
    "XMLNSC": _XMLNSC_ROLES,
    "JSON": _JSON_ROLES,
}
"""What the numbers of a domain mean; in other domains the top byte says it all."""

_TYPES: Mapping[str, Mapping[Role, int]] = {
    "XML": {role: number for number, role in _XML_ROLES.items()},
    "XMLNS": {role: number for number, role in _XML_ROLES.items()},
    "XMLNSC": {role: number for number, role in reversed(_XMLNSC_ROLES.items())},
    "JSON": {Role.ARRAY: Json.ARRAY},
}

_VARIANTS = frozenset(
    (
        Xml.ELEMENT,
        Xmlnsc.VALUE,
        Xmlnsc.FIELD,
        Xmlnsc.ATTRIBUTE,
        Xmlnsc.NAMESPACE_DECL,
    )  # each also stands for the number behind it
)


_ELEMENTS = frozenset((Xmlnsc.FOLDER, Xmlnsc.FIELD, Xmlnsc.CDATA_FIELD, Xmlnsc.FIELD + Xmlnsc.BASE64))


def type_matches(wanted: int, actual: int) -> bool:
    """Whether a path that names this type means an element of that type."""
    if actual == wanted:
        return True
    if wanted == Xmlnsc.ELEMENT:
        return actual in _ELEMENTS
    return actual == wanted + 1 and wanted in _VARIANTS


def role_of(type: int, domain: str) -> Role:  # noqa: A002
    """What an element of this type is in this domain."""
    role = ROLES.get(domain, {}).get(type)
    if role is not None:
        return role
    return Role.TEXT if type & KIND_MASK == VALUE else Role.ELEMENT


def type_in(domain: str, role: Role, *, has_value: bool) -> int:
    """The type of an element that is this in that domain."""
    number = _TYPES.get(domain, {}).get(role)
    if number is not None and role is not Role.ELEMENT:
        return number
    if role in (Role.TEXT, Role.CDATA, Role.WHITE_SPACE):
        return VALUE
    if domain in ("XML", "XMLNS"):
        return NAME  # the other number is an attribute there
    return NAME_VALUE if has_value else NAME
