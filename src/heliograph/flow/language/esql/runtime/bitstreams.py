"""Between trees and bytes: ASBITSTREAM, and CREATE with DOMAIN and PARSE.

Policy: EmbeddedBitStream takes character set and encoding from the headers before, the others from the part. With
FolderBitStream a field is a document of its own; parsed inside a part, such a document becomes a field of that part
again, and elsewhere a part. The options of validation change nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from heliograph.flow.errors import ExpressionError
from heliograph.flow.language.esql.names import CONSTANTS
from heliograph.flow.language.esql.runtime.evaluation import Evaluation
from heliograph.flow.language.values.types import type_of
from heliograph.flow.tree import Element, Part, Text
from heliograph.flow.tree.part import part_of

NO_DOMAIN = 2437
NOT_BYTES = 2438

_DEFAULT = "BLOB"
_KINDS = ("RootBitStream", "EmbeddedBitStream", "FolderBitStream")
_ROOT, _EMBEDDED, _FOLDER = (CONSTANTS[name] for name in _KINDS)
_VALIDATION = 0xFF00
_CLAUSES = (
    ("OPTIONS", int),
    ("ENCODING", int),
    ("CCSID", int),
    ("SET", str),
    ("TYPE", str),
    ("FORMAT", str),
)
_TOPS = {"JSON": "Data"}
"""What a document's top is called, in domains where it has one name only."""
_WITHOUT_TOP = frozenset({"MRM"})
"""Domains whose parts have the fields of a document without a field around them."""


def as_bit_stream(
    evaluation: Evaluation,
    element: Element | None,
    options: Any = 0,
    encoding: Any = 0,
    ccsid: Any = 0,
    message_set: Any = "",
    message_type: Any = "",
    message_format: Any = "",
) -> bytes | None:
    """ASBITSTREAM: a field as bytes, in the format of the part that it belongs to; NULL if any argument is."""
    given = (options, encoding, ccsid, message_set, message_type, message_format)
    if element is None or None in given:
        return None
    kind = _checked("ASBITSTREAM", given)
    part = part_of(element)
    if part is None:
        raise ExpressionError(
            NO_DOMAIN, f"{element.name} belongs to no format, and cannot become bytes", (element.name,)
        )
    text = part.text
    if kind == _EMBEDDED and part.parent is not None:
        text = _said_by(part.parent.children[: part.position()], text)
    text = _text(text, given)
    if part is not element:
        return _document(evaluation, part, element, text).bytes()
    if text == part.text:
        return part.bytes()
    whole = evaluation.catalogue.new_part(part.format.domain, text)
    whole.take_content(part)
    return whole.bytes()


def _document(evaluation: Evaluation, part: Part, element: Element, text: Text) -> Part:
    """A part that has this field alone."""
    domain = part.format.domain
    document = evaluation.catalogue.new_part(domain, text)
    if domain in _WITHOUT_TOP:
        document.take_content(element)
        return document
    top = document.append(element.copy())
    top.set_name(_TOPS.get(domain, element.name))
    return document


def parse(
    evaluation: Evaluation,
    domain: Any,
    target: Element,
    where: str,
    name: Any,
    data: Any,
    options: Any = 0,
    encoding: Any = 0,
    ccsid: Any = 0,
    message_set: Any = "",
    message_type: Any = "",
    message_format: Any = "",
) -> Element:
    """PARSE: what reads these bytes, by this domain or that of the target; `where` it will be, as CREATE says it."""
    if type(data) is not bytes:
        raise ExpressionError(NOT_BYTES, f"PARSE takes a BLOB, not {type_of(data).value}", (type_of(data).value,))
    given = (options or 0, encoding or 0, ccsid or 0, message_set or "", message_type or "", message_format or "")
    kind = _checked("PARSE", given)
    around = part_of(target)
    text = around.text if around is not None else Text()
    if kind == _EMBEDDED:
        text = _said_by(_before(target, where), text)
    chosen = domain or (around.format.domain if around is not None else _DEFAULT)
    part = evaluation.catalogue.part_of(chosen, data, _text(text, given))
    found = _field(part) if kind == _FOLDER and around is not None else part
    if name is not None:
        found.name = name
    return found


def _field(part: Part) -> Element:
    """The field that a document is."""
    if part.format.domain in _WITHOUT_TOP:
        field = Element(part.text.message_type)
        field.take_content(part)
        return field
    # The last one: declarations and comments may stand before it.
    return part.children[-1].detach() if part.children else Element()


def _before(target: Element, where: str) -> Sequence[Element]:
    """What will stand before a new field."""
    if where.endswith("CHILD"):
        return target.children if where == "LASTCHILD" else ()
    if target.parent is None:
        return ()
    return target.parent.children[: target.position() + (where == "NEXTSIBLING")]


def _said_by(headers: Sequence[Element], text: Text) -> Text:
    """The text with what the nearest headers say of what follows them."""
    ccsid = encoding = 0
    for header in reversed(headers):
        ccsid = ccsid or _number(header, "CodedCharSetId")
        encoding = encoding or _number(header, "Encoding")
    return replace(text, ccsid=ccsid or text.ccsid, encoding=encoding or text.encoding)


def _number(header: Element, name: str) -> int:
    field = header.first(name)
    # Numbers below zero mean: as the header before says.
    return field.value if field is not None and type(field.value) is int and field.value > 0 else 0


def _checked(name: str, given: tuple[Any, ...]) -> int:
    """Which of the three kinds of bytes is meant, if all clauses have values of the right type."""
    for (clause, wanted), value in zip(_CLAUSES, given, strict=True):
        if type(value) is not wanted:
            needed = "an INTEGER" if wanted is int else "CHARACTER"
            raise ExpressionError(
                NOT_BYTES, f"{clause} of {name} is {needed}, not {type_of(value).value}", (name, clause, value)
            )
    kind: int = given[0] & ~_VALIDATION
    if kind not in (_ROOT, _EMBEDDED, _FOLDER):
        raise ExpressionError(
            NOT_BYTES, f"OPTIONS of {name} are one of {', '.join(_KINDS)}, not {given[0]}", (name, given[0])
        )
    return kind


def new_field(evaluation: Evaluation, domain: Any, type_: Any, namespace: Any, name: Any, value: Any) -> Element:
    """What CREATE makes; with a domain, a part."""
    if domain is None:
        return Element(name or "", value, _type(type_, name, value), namespace or "")
    part = evaluation.catalogue.new_part(domain)
    if name is not None:
        part.name = name
    return part


def _type(type_: Any, name: Any, value: Any) -> int:
    if type_ is not None:
        return int(type_)
    # A value without a name is content; everything else is an element, which formats write with or without a value.
    return 0x02000000 if name is None and value is not None else 0x01000000


def _text(text: Text, given: tuple[Any, ...]) -> Text:
    """The text with what the clauses say."""
    _, encoding, ccsid, message_set, message_type, message_format = given
    return replace(
        text,
        encoding=encoding or text.encoding,
        ccsid=ccsid or text.ccsid,
        message_set=message_set or text.message_set,
        message_type=message_type or text.message_type,
        message_format=message_format or text.message_format,
    )
