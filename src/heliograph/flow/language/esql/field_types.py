"""Named types of fields, as written in a path: `(XML.Attribute)`, `(XMLNSC.Field)`, `(NameValue)`.

The same number may mean different things in different domains: 0x03000000 is an attribute in XML, an element in XMLNSC.
"""

from heliograph.flow.tree.types import NAME, NAME_VALUE, VALUE, Json, Xml, Xmlnsc

_ANY_DOMAIN = {"Name": NAME, "Value": VALUE, "NameValue": NAME_VALUE}

# Numbers that are written down here are those of fields that no format makes by itself.
_XML = {
    "Element": Xml.ELEMENT,
    "Tag": Xml.ELEMENT,
    "XmlDecl": Xml.XML_DECL,
    "DocTypeDecl": 0x05000020,
    "NamespaceDecl": Xml.NAMESPACE_DECL,
    "Content": Xml.CONTENT,
    "PCData": Xml.CONTENT,
    "CDataSection": Xml.CDATA_SECTION,
    "WhiteSpace": Xml.WHITE_SPACE,
    "AsisElementContent": 0x06000021,
    "BitStream": 0x06000022,
    "EntityReferenceStart": 0x06000023,
    "EntityReferenceEnd": 0x06000024,
    "Attribute": Xml.ATTRIBUTE,
    "Attr": Xml.ATTRIBUTE,
    "Version": Xml.VERSION,
    "Encoding": Xml.ENCODING,
    "Standalone": Xml.STANDALONE,
    "Comment": Xml.COMMENT,
    "ProcessingInstruction": Xml.PI,
    "PI": Xml.PI,
}

_XMLNSC = {
    "Element": Xmlnsc.ELEMENT,
    "Folder": Xmlnsc.FOLDER,
    "DocumentType": 0x01000300,
    "XmlDeclaration": Xmlnsc.XML_DECLARATION,
    "Value": Xmlnsc.VALUE,
    "PCDataValue": Xmlnsc.VALUE,
    "CDataValue": Xmlnsc.CDATA_VALUE,
    "HybridValue": 0x02000002,
    "EntityReference": 0x02000100,
    "BitStream": 0x02000200,
    "Field": Xmlnsc.FIELD,
    "PCDataField": Xmlnsc.FIELD,
    "CDataField": Xmlnsc.CDATA_FIELD,
    "HybridField": 0x03000002,
    "Attribute": Xmlnsc.ATTRIBUTE,
    "DoubleAttribute": Xmlnsc.ATTRIBUTE,
    "SingleAttribute": Xmlnsc.SINGLE_ATTRIBUTE,
    "NamespaceDecl": Xmlnsc.NAMESPACE_DECL,
    "DoubleNamespaceDecl": Xmlnsc.NAMESPACE_DECL,
    "SingleNamespaceDecl": Xmlnsc.SINGLE_NAMESPACE_DECL,
    "base64Binary": Xmlnsc.BASE64,
    "EntityDefinition": 0x03000300,
    "DoubleEntityDefinition": 0x03000300,
    "SingleEntityDefinition": 0x03000301,
    "Comment": Xmlnsc.COMMENT,
    "ProcessingInstruction": Xmlnsc.PI,
    "PI": Xmlnsc.PI,
}

_HEADER = {"Field": NAME_VALUE}
_JSON = {"Object": Json.OBJECT, "Array": Json.ARRAY, "Value": Json.VALUE}

_BY_DOMAIN: dict[str, dict[str, int]] = {
    domain: {name.upper(): value for name, value in names.items()}
    for domain, names in (
        ("", _ANY_DOMAIN),
        ("XML", _XML),
        ("XMLNS", _XML),
        ("XMLNSC", _XMLNSC),
        ("SOAP", _XMLNSC),
        ("JSON", _JSON),
        ("MQRFH2", _HEADER),
        ("MQRFH", _HEADER),
    )
}


def field_type(domain: str, name: str) -> int | None:
    """The number of a named type, whatever the case; None if there is none. Names in every domain have domain ""."""
    return _BY_DOMAIN.get(domain.upper(), {}).get(name.upper())


def names_of(domain: str) -> list[str]:
    """The types of a domain, in upper case; empty if the domain is not known."""
    return list(_BY_DOMAIN.get(domain.upper(), ()))
