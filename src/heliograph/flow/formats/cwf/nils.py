"""Null in a structure: which bytes, or which value, say that a field has none.

`nilKind` is one of DFDL's: `logicalValue` (a value of the field's type means null), `literalValue` (this text, filled
up as text is) and `literalCharacter` (this character all over the field). A byte that is no character is `%#rFF;`.
"""

import re
import struct
from dataclasses import dataclass
from math import isnan
from typing import Any

from heliograph.flow.formats.cwf.shapes import FloatShape, Shape, TextShape
from heliograph.flow.formats.cwf.shaping import ENTITY, Properties, characters_of
from heliograph.flow.formats.model import Field
from heliograph.flow.formats.model.conversion import CONVERSIONS

LOGICAL, LITERAL, FILL = "logicalValue", "literalValue", "literalCharacter"
MEASURED = ("prefixed", "delimited", "endOfParent")
"""Kinds of length that go by the data itself."""
RAW_BYTE = re.compile(r"%#r([0-9A-Fa-f]{2});")


@dataclass(frozen=True)
class Nil:
    """What stands for null."""

    logical: bool
    value: Any
    """A value of the field; or else what `struct` makes of the bytes."""


def nil_of(field: Field, shape: Shape, properties: Properties) -> Nil | None:
    """What stands for null in a field: what it says itself, or what the format says for fields that are nillable."""
    holder = properties.get if field.nillable else properties.own.get
    text = holder("nilValue")
    if text is None:
        return None
    if shape.size is None and properties.get("lengthKind", "explicit") not in MEASURED:
        raise properties.problem("nilValue: expected a length that is fixed, prefixed, delimited or endOfParent")
    kind = properties.get("nilKind", LITERAL)
    if kind == LOGICAL:
        return Nil(True, _logical(field, shape, text, properties))
    if isinstance(shape, FloatShape):
        raise properties.problem(f"nilKind: expected {LOGICAL} for a floating-point number, found {kind}")
    data = _filled(shape, text, properties) if kind == FILL else _literal(shape, text, properties)
    if shape.size is None:
        return Nil(False, data)
    return Nil(False, struct.unpack((shape.code_order or ">") + shape.code, data)[0])


def _logical(field: Field, shape: Shape, text: str, properties: Properties) -> Any:
    try:
        value = CONVERSIONS[field.type](characters_of(text))
        if isinstance(value, float) and isnan(value):
            raise ValueError("it equals nothing")
    except ValueError:
        raise properties.problem(f"nilValue: expected a value of type {field.type.value}, found {text!r}") from None
    return shape.trimmed(value)


def _literal(shape: Shape, text: str, properties: Properties) -> bytes:
    data = _encoded(text, properties)
    if isinstance(shape, TextShape):
        data = shape.fitted(data)
    if shape.size not in (None, len(data)):
        raise properties.problem(f"nilValue: expected {shape.size} bytes, found {len(data)} in {text!r}")
    return data


def _filled(shape: Shape, text: str, properties: Properties) -> bytes:
    unit = _encoded(text, properties)
    if shape.size is None:
        raise properties.problem(f"nilKind: expected another than {FILL} for a length that is not fixed")
    if len(RAW_BYTE.sub("x", ENTITY.sub("x", text))) != 1 or shape.size % len(unit):
        raise properties.problem(f"nilValue: expected one character that fills {shape.size} bytes, found {text!r}")
    return unit * (shape.size // len(unit))


def _encoded(text: str, properties: Properties) -> bytes:
    """The bytes of a text in which single bytes may be written as numbers."""
    pieces = RAW_BYTE.split(text)  # text and numbers in turn
    try:
        return b"".join(
            bytes.fromhex(piece) if at % 2 else properties.charset.encode(characters_of(piece))
            for at, piece in enumerate(pieces)
        )
    except UnicodeError:
        raise properties.problem(f"nilValue: {properties.charset.name} has no {text!r}") from None
