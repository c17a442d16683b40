"""The message of the conversion tests in its four formats: ten texts, ten floats, ten integers, and padding.

All are behind an MQRFH2 that says which they are, as in the published report.
"""

import struct
from collections.abc import Mapping, Sequence

from heliograph.flow.formats import Envelope
from heliograph.lab.flows.messages import TEXT, ExpectedBody, MessageMaker, padding, with_folders

KINDS = ("xml", "cwf", "mrm-xml", "tds")
"""In the order of the report."""
_FORMATS = {"cwf": "CWF1", "mrm-xml": "XML1", "tds": "TDS1"}
_COUNT = 10
_SET, _TYPE = "record", "Record"


def _fields() -> dict[str, str | float | int]:
    texts = {f"Text{number:02}": f"Field text {number}" for number in range(_COUNT)}
    numbers = {f"Number{number:02}": float(f"1.5E+{number}") for number in range(_COUNT)}
    counts = {f"Count{number:02}": 1000 * number + 7 for number in range(_COUNT)}
    return {**texts, **numbers, **counts}


FIELDS = _fields()
"""Names and values, without the padding."""
PADDING = "Padding"


def _model() -> str:
    kinds = {str: "string, CWF1: {length: 12}", float: "float, CWF1: {length: 8}", int: "integer, CWF1: {length: 4}"}
    fields = "".join(
        f"      - {{name: {name}, type: {kinds[type(value)]}, TDS1: {{tag: {name}}}}}\n"
        for name, value in FIELDS.items()
    )
    return f"""\
formats:
  CWF1: {{kind: CWF, byteOrder: bigEndian}}
  TDS1: {{kind: TDS, dataElementSeparation: taggedDelimited, separator: ";", tagDataSeparator: "="}}
  XML1: {{kind: XML}}
messages:
  {_TYPE}:
    sequence:
{fields}\
      - {{name: {PADDING}, type: string, CWF1: {{lengthKind: endOfParent}}, TDS1: {{tag: {PADDING}}}}}
"""


FILES: Mapping[str, str] = {f"models/{_SET}.model.yaml": _model()}


def _text(kind: str, value: str | float) -> str:
    """Generic XML has numbers as ESQL writes them, models have them as XML Schema does."""
    if isinstance(value, float) and kind == "xml":
        return f"{value:.1E}".replace("E+0", "E+")
    return str(value)


def body(kind: str, filling: str, *, backwards: bool = False) -> bytes:
    """The message in one of the formats; XML also with its fields the other way round."""
    fields = dict(reversed(FIELDS.items())) if backwards else FIELDS
    if kind == "cwf":
        packed = b"".join(
            value.ljust(12).encode()
            if isinstance(value, str)
            else struct.pack(">d" if type(value) is float else ">i", value)
            for value in fields.values()
        )
        return packed + filling.encode()
    named = [*((name, _text(kind, value)) for name, value in fields.items()), (PADDING, filling)]
    if kind == "tds":
        return ";".join(f"{name}={value}" for name, value in named).encode()
    return f"<{_TYPE}>{''.join(f'<{name}>{value}</{name}>' for name, value in named)}</{_TYPE}>".encode()


def maker(kind: str) -> MessageMaker:
    """Makes the message in one of the formats."""
    bare = len(body(kind, ""))

    def make(size: int, number: int) -> Envelope:
        data = body(kind, padding(size - bare, number))
        if kind == "xml":
            return with_folders({"mcd": {"Msd": "xml"}}, data)
        folder = {"Msd": "mrm", "Set": _SET, "Type": _TYPE, "Fmt": _FORMATS[kind]}
        return with_folders({"mcd": folder}, data, "" if kind == "cwf" else TEXT)

    return make


def result(source: str, target: str) -> ExpectedBody:
    """What a message in one format is in another. Generic XML is built with its fields in another order."""
    bare = len(body(source, ""))

    def make(size: int, number: int) -> bytes:
        return body(target, padding(size - bare, number), backwards=target == "xml")

    return make


def _order(target: str) -> Sequence[str]:
    names = reversed(FIELDS) if target == "xml" else FIELDS
    return [*names, PADDING]


def _tree(kind: str, root: str) -> str:
    return f"{root}.XML.{_TYPE}" if kind == "xml" else f"{root}.MRM"


def conversion(source: str, target: str) -> str:
    """ESQL that copies every field."""
    lines = ["SET OutputRoot.MQMD = InputRoot.MQMD;"]
    if target != "xml":
        lines += [
            f"SET OutputRoot.Properties.MessageSet = '{_SET}';",
            f"SET OutputRoot.Properties.MessageType = '{_TYPE}';",
            f"SET OutputRoot.Properties.MessageFormat = '{_FORMATS[target]}';",
        ]
    read, write = _tree(source, "InputRoot"), _tree(target, "OutputRoot")
    lines += [f"SET {write}.{name} = {read}.{name};" for name in _order(target)]
    return "\n".join(lines) + "\n"


def mapping(source: str, target: str) -> str:
    """The same as rules of a Mapping node."""
    rules = [f"  - {{to: {name}, from: {name}}}" for name in _order(target)]
    if target != "xml":
        values = {"MessageSet": _SET, "MessageType": _TYPE, "MessageFormat": _FORMATS[target]}
        rules = [
            f"  - {{to: OutputRoot.Properties.{name}, constant: {value}}}" for name, value in values.items()
        ] + rules
    head = [
        "mapping: copy",
        f"source: {_tree(source, 'InputRoot')}",
        f"target: {_tree(target, 'OutputRoot')}",
        "headers: no",
        "map:",
        "  - {to: OutputRoot.MQMD, from: InputRoot.MQMD}",
    ]
    return "\n".join([*head, *rules]) + "\n"
