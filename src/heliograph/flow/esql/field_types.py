"""Named types of fields, as written in a path: `(XML.Attribute)`, `(XMLNSC.Field)`, `(NameValue)`.

The same number may mean different things in different domains: 0x03000000 is an attribute in XML, an element in XMLNSC.
"""

_ANY_DOMAIN = {"Name": 0x01000000, "Value": 0x02000000, "NameValue": 0x03000000}

_XML = {
    "Element": 0x01000000,
    "Tag": 0x01000000,
    "ParserRoot": 0x01000010,
    "XmlDecl": 0x01000001,
    "DocTypeDecl": 0x01000002,
    "NamespaceDecl": 0x03000001,
    "Content": 0x02000000,
    "PCDATA": 0x02000000,
    "CDataSection": 0x02000001,
    "WhiteSpace": 0x02000002,
    "AsisElementContent": 0x02000003,
    "EntityReferenceStart": 0x02000004,
    "EntityReferenceEnd": 0x02000005,
    "EntityReference": 0x02000006,
    "BitStream": 0x02000007,
    "Attribute": 0x03000000,
    "Attr": 0x03000000,
    "Version": 0x03000002,
    "Encoding": 0x03000003,
    "Standalone": 0x03000004,
    "Comment": 0x03000005,
    "ProcessingInstruction": 0x03000006,
    "PI": 0x03000006,
}

_XMLNSC = {
    "Folder": 0x01000000,
    "DocumentType": 0x01000300,
    "XmlDeclaration": 0x01000400,
    "Value": 0x02000000,
    "PCDataValue": 0x02000000,
    "CDataValue": 0x02000001,
    "HybridValue": 0x02000002,
    "EntityReference": 0x02000100,
    "BitStream": 0x02000200,
    "Field": 0x03000000,
    "PCDataField": 0x03000000,
    "CDataField": 0x03000001,
    "HybridField": 0x03000002,
    "Attribute": 0x03000100,
    "SingleAttribute": 0x03000101,
    "DoubleAttribute": 0x03000100,
    "NamespaceDecl": 0x03000103,
    "SingleNamespaceDecl": 0x03000103,
    "DoubleNamespaceDecl": 0x03000102,
    "EntityDefinition": 0x03000300,
    "SingleEntityDefinition": 0x03000301,
    "DoubleEntityDefinition": 0x03000300,
    "Comment": 0x03000400,
    "ProcessingInstruction": 0x03000401,
    "PI": 0x03000401,
}

_JSON = {"Object": 0x01000000, "Array": 0x01001000, "Value": 0x03000000, "Null": 0x03000100}

_BY_DOMAIN: dict[str, dict[str, int]] = {
    domain: {name.upper(): value for name, value in names.items()}
    for domain, names in (
        ("", _ANY_DOMAIN),
        ("XML", _XML),
        ("XMLNS", _XML),
        ("XMLNSC", _XMLNSC),
        ("SOAP", _XMLNSC),
        ("JSON", _JSON),
    )
}


def field_type(domain: str, name: str) -> int | None:
    """The number of a named type, whatever the case; None if there is none. Names in every domain have domain ""."""
    return _BY_DOMAIN.get(domain.upper(), {}).get(name.upper())


def names_of(domain: str) -> list[str]:
    """The types of a domain, in upper case; empty if the domain is not known."""
    return list(_BY_DOMAIN.get(domain.upper(), ()))
