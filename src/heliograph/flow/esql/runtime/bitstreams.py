"""Between trees and bytes: ASBITSTREAM, and CREATE with DOMAIN and PARSE."""

from dataclasses import replace
from typing import Any

from heliograph.flow.esql.evaluation import Evaluation
from heliograph.flow.tree import Element, Part, Text
from heliograph.flow.values.errors import ExpressionError
from heliograph.flow.values.types import type_of

NO_DOMAIN = 2437
NOT_BYTES = 2438

_DEFAULT = "BLOB"


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
    part = element.part()
    if part is None:
        raise ExpressionError(
            NO_DOMAIN, f"{element.name} belongs to no format, and cannot become bytes", (element.name,)
        )
    text = _text(part.text, encoding, ccsid, message_set, message_type, message_format)
    if part is element and text == part.text:
        return part.bytes()
    if part is element:
        whole = evaluation.catalogue.new_part(part.format.domain, text)
        whole.take_content(part)
        return whole.bytes()
    # Anything below a part is written as a document of its own.
    folder = evaluation.catalogue.new_part(part.format.domain, text)
    folder.append(element.copy())
    return folder.bytes()


def parse(
    evaluation: Evaluation,
    domain: Any,
    target: Element,
    data: Any,
    options: Any = 0,
    encoding: Any = 0,
    ccsid: Any = 0,
    message_set: Any = "",
    message_type: Any = "",
    message_format: Any = "",
) -> Part:
    """PARSE: a part that reads these bytes, by this domain or that of the target."""
    if type(data) is not bytes:
        raise ExpressionError(NOT_BYTES, f"PARSE takes a BLOB, not {type_of(data).value}", (type_of(data).value,))
    around = target.part()
    text = around.text if around is not None else Text()
    name = domain or (around.format.domain if around is not None else _DEFAULT)
    return evaluation.catalogue.part_of(
        name, data, _text(text, encoding or 0, ccsid or 0, message_set or "", message_type or "", message_format or "")
    )


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


def _text(text: Text, encoding: int, ccsid: int, message_set: str, message_type: str, message_format: str) -> Text:
    return replace(
        text,
        encoding=encoding or text.encoding,
        ccsid=ccsid or text.ccsid,
        message_set=message_set or text.message_set,
        message_type=message_type or text.message_type,
        message_format=message_format or text.message_format,
    )
