"""Names that are there without being declared: the trees of a node, properties of the broker, and constants."""

import sys
from collections.abc import Mapping

from heliograph.flow.language.esql.syntax import FieldReference
from heliograph.flow.tree.element_types import NAME, NAME_VALUE, VALUE, Json, Xml, Xmlnsc

# Named types of fields, as written in a path: `(XML.Attribute)`, `(XMLNSC.Field)`, `(NameValue)`.
#
# The same number may mean different things in different domains: 0x03000000 is an attribute in XML, an element in
# XMLNSC.

_ANY_DOMAIN = {"Name": NAME, "Value": VALUE, "NameValue": NAME_VALUE}

# Types without a name in the tree are written as numbers: no format makes fields of these types.
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


_EVERYWHERE = ("Environment", "Database")
_COMPUTE = (
    "InputRoot",
    "InputBody",
    "InputProperties",
    "InputLocalEnvironment",
    "InputDestinationList",
    "InputExceptionList",
    "OutputRoot",
    "OutputLocalEnvironment",
    "OutputDestinationList",
    "OutputExceptionList",
    *_EVERYWHERE,
)
_OTHERS = ("Root", "Body", "Properties", "LocalEnvironment", "DestinationList", "ExceptionList", *_EVERYWHERE)

TREES: Mapping[str, tuple[str, ...]] = {
    "COMPUTE": _COMPUTE,
    "FILTER": _OTHERS,
    "DATABASE": _OTHERS,
    "DATABASEEVENT": _OTHERS,
    "": tuple(dict.fromkeys(_COMPUTE + _OTHERS)),
}
"""Correlation names by the kind of the module; those of routines outside of modules, which any may call, under ""."""

_CHANGEABLE = frozenset(
    [
        "ENVIRONMENT",
        "INPUTLOCALENVIRONMENT",
        "INPUTDESTINATIONLIST",
        "OUTPUTROOT",
        "OUTPUTLOCALENVIRONMENT",
        "OUTPUTDESTINATIONLIST",
        "OUTPUTEXCEPTIONLIST",
        "LOCALENVIRONMENT",
        "DESTINATIONLIST",
    ]
)


def is_changeable(tree: str) -> bool:
    """Whether statements may change this tree by its own name (a reference may always)."""
    return tree.upper() in _CHANGEABLE


TERMINALS: Mapping[int, str] = {
    -2: "nowhere",
    -1: "failure",
    0: "out",
    1: "out1",
    2: "out2",
    3: "out3",
    4: "out4",
}
"""Where PROPAGATE can send a message: the numbers and the names of terminals."""


BROKER_PROPERTIES = (
    "ApplicationLabel",
    "BrokerDataSource",
    "BrokerDataSourceUserId",
    "BrokerName",
    "BrokerUserId",
    "BrokerVersion",
    "CoordinatedTransaction",
    "DataSource",
    "DataSourceUserId",
    "ExecutionGroupLabel",
    "ExecutionGroupName",
    "Family",
    "JobName",
    "LibraryLabel",
    "MessageFlowLabel",
    "MessageFlowThreads",
    "MessageFlowAdditionalInstances",
    "NodeLabel",
    "NodeType",
    "Platform",
    "ProcessId",
    "QueueManagerName",
    "Transaction",
    "WorkPath",
)
"""What a flow can ask about where it runs."""

CONSTANTS: Mapping[str, int | str | bytes] = {
    # Options of ASBITSTREAM and PARSE
    "RootBitStream": 0,
    "EmbeddedBitStream": 1,
    "FolderBitStream": 2,
    "ValidateNone": 0,
    "ValidateContent": 0x0100,
    "ValidateValue": 0x0200,
    "ValidateContentAndValue": 0x0300,
    "ValidateLocalError": 0x1000,
    "ValidateException": 0x2000,
    "ValidateExceptionList": 0x3000,
    "ValidateDeferred": 0,
    "ValidateImmediate": 0x4000,
    "ValidateComplete": 0x8000,
    # Encodings of numbers
    "MQENC_INTEGER_NORMAL": 0x1,
    "MQENC_INTEGER_REVERSED": 0x2,
    "MQENC_DECIMAL_NORMAL": 0x10,
    "MQENC_DECIMAL_REVERSED": 0x20,
    "MQENC_FLOAT_IEEE_NORMAL": 0x100,
    "MQENC_FLOAT_IEEE_REVERSED": 0x200,
    "MQENC_FLOAT_S390": 0x300,
    "MQENC_NATIVE": 0x222 if sys.byteorder == "little" else 0x111,
    "MQCCSI_DEFAULT": 0,
    "MQCCSI_Q_MGR": 0,
    "MQCCSI_EMBEDDED": -1,
    "MQCCSI_INHERIT": -2,
    # Fields of the MQMD
    "MQMD_VERSION_1": 1,
    "MQMD_VERSION_2": 2,
    "MQMD_CURRENT_VERSION": 2,
    "MQMT_REQUEST": 1,
    "MQMT_REPLY": 2,
    "MQMT_REPORT": 4,
    "MQMT_DATAGRAM": 8,
    "MQMT_APPL_FIRST": 65536,
    "MQMT_APPL_LAST": 999999999,
    "MQPER_NOT_PERSISTENT": 0,
    "MQPER_PERSISTENT": 1,
    "MQPER_PERSISTENCE_AS_Q_DEF": 2,
    "MQPRI_PRIORITY_AS_Q_DEF": -1,
    "MQEI_UNLIMITED": -1,
    "MQFB_NONE": 0,
    "MQFB_QUIT": 256,
    "MQFB_EXPIRATION": 258,
    "MQFB_COA": 259,
    "MQFB_COD": 260,
    "MQFB_PAN": 275,
    "MQFB_NAN": 276,
    "MQFB_APPL_FIRST": 65536,
    "MQFB_APPL_LAST": 999999999,
    "MQRO_NONE": 0,
    "MQRO_NEW_MSG_ID": 0,
    "MQRO_COPY_MSG_ID_TO_CORREL_ID": 0,
    "MQRO_DEAD_LETTER_Q": 0,
    "MQRO_PAN": 0x1,
    "MQRO_NAN": 0x2,
    "MQRO_ACTIVITY": 0x4,
    "MQRO_PASS_CORREL_ID": 0x40,
    "MQRO_PASS_MSG_ID": 0x80,
    "MQRO_COA": 0x100,
    "MQRO_COA_WITH_DATA": 0x300,
    "MQRO_COA_WITH_FULL_DATA": 0x700,
    "MQRO_COD": 0x800,
    "MQRO_COD_WITH_DATA": 0x1800,
    "MQRO_COD_WITH_FULL_DATA": 0x3800,
    "MQRO_PASS_DISCARD_AND_EXPIRY": 0x4000,
    "MQRO_EXPIRATION": 0x200000,
    "MQRO_EXPIRATION_WITH_DATA": 0x600000,
    "MQRO_EXPIRATION_WITH_FULL_DATA": 0xE00000,
    "MQRO_EXCEPTION": 0x1000000,
    "MQRO_EXCEPTION_WITH_DATA": 0x3000000,
    "MQRO_EXCEPTION_WITH_FULL_DATA": 0x7000000,
    "MQRO_DISCARD_MSG": 0x8000000,
    "MQMF_NONE": 0,
    "MQMF_SEGMENTATION_INHIBITED": 0,
    "MQMF_SEGMENTATION_ALLOWED": 0x1,
    "MQMF_SEGMENT": 0x2,
    "MQMF_LAST_SEGMENT": 0x4,
    "MQMF_MSG_IN_GROUP": 0x8,
    "MQMF_LAST_MSG_IN_GROUP": 0x10,
    "MQOL_UNDEFINED": -1,
    "MQMI_NONE": bytes(24),
    "MQCI_NONE": bytes(24),
    "MQGI_NONE": bytes(24),
    "MQACT_NONE": bytes(32),
    "MQFMT_NONE": "        ",
    "MQFMT_ADMIN": "MQADMIN ",
    "MQFMT_CICS": "MQCICS  ",
    "MQFMT_COMMAND_1": "MQCMD1  ",
    "MQFMT_COMMAND_2": "MQCMD2  ",
    "MQFMT_DEAD_LETTER_HEADER": "MQDEAD  ",
    "MQFMT_DIST_HEADER": "MQHDIST ",
    "MQFMT_EVENT": "MQEVENT ",
    "MQFMT_IMS": "MQIMS   ",
    "MQFMT_IMS_VAR_STRING": "MQIMSVS ",
    "MQFMT_MD_EXTENSION": "MQHMDE  ",
    "MQFMT_PCF": "MQPCF   ",
    "MQFMT_REF_MSG_HEADER": "MQHREF  ",
    "MQFMT_RF_HEADER": "MQHRF   ",
    "MQFMT_RF_HEADER_1": "MQHRF   ",
    "MQFMT_RF_HEADER_2": "MQHRF2  ",
    "MQFMT_STRING": "MQSTR   ",
    "MQFMT_TRIGGER": "MQTRIG  ",
    "MQFMT_WORK_INFO_HEADER": "MQHWIH  ",
    "MQFMT_XMIT_Q_HEADER": "MQXMIT  ",
    # Other headers
    "MQRFH_VERSION_1": 1,
    "MQRFH_VERSION_2": 2,
    "MQRFH_CURRENT_VERSION": 2,
    "MQRFH_NONE": 0,
    "MQRFH_NO_FLAGS": 0,
    "MQDLH_VERSION_1": 1,
    "MQDLH_CURRENT_VERSION": 1,
    "MQIIH_VERSION_1": 1,
    "MQIIH_CURRENT_VERSION": 1,
    "MQCIH_VERSION_1": 1,
    "MQCIH_VERSION_2": 2,
    "MQCIH_CURRENT_VERSION": 2,
}
"""Named numbers and words, as written; compared without case."""

CONSTANT_VALUES: Mapping[str, int | str | bytes] = {name.upper(): value for name, value in CONSTANTS.items()}
"""The same by the name in upper case."""


def constant_of(reference: FieldReference) -> int | str | bytes | None:
    """The value of a constant that is there without being declared: `MQMT_REPLY`, `XMLNSC.Attribute`, `NameValue`.

    None if the reference is no such constant. Whatever a program declares comes before these.
    """
    name = reference.correlation.upper()
    if reference.index is not None or len(reference.steps) > 1:
        return None
    if not reference.steps:
        value = CONSTANT_VALUES.get(name)
        return value if value is not None else field_type("", name)
    (step,) = reference.steps
    plain = step.namespace is None and step.type is None and step.index is None
    return field_type(name, step.name) if plain and isinstance(step.name, str) else None


_PROPERTIES = {name.upper(): name for name in BROKER_PROPERTIES}
_SQL = "SQL"


def property_of(reference: FieldReference) -> str | None:
    """The property of the broker that is meant, unless a variable is: `NodeLabel`, `SQL.NodeLabel`."""
    return _PROPERTIES.get(alone(reference))


def alone(reference: FieldReference) -> str:
    """The name, in upper case, of a reference that is nothing else; `SQL.` may stand before names of the language."""
    if reference.index is not None:
        return ""
    if not reference.steps:
        return reference.correlation.upper()
    step = reference.steps[0]
    plain = len(reference.steps) == 1 and step.namespace is None and step.type is None and step.index is None
    if plain and isinstance(step.name, str) and reference.correlation.upper() == _SQL:
        return step.name.upper()
    return ""
