"""Chooses the shape of a field by its properties. Properties that contradict each other are a `ModelProblem`."""

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

from heliograph.errors import Problem
from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.charsets import Charset, charset, named_charset
from heliograph.flow.formats.cwf.cwf_shapes import (
    FilledShape,
    FloatShape,
    IntegerShape,
    Shape,
    TextNumberShape,
    TextShape,
    bcd_shape,
    binary_calendar,
    packed_calendar,
    packed_shape,
    zoned_shape,
)
from heliograph.flow.formats.cwf.host_numbers import ASCII, ASCII_TRANSLATED, EBCDIC, SignOrientation, Zones
from heliograph.flow.formats.model import Field, PhysicalFormat, Type, reference
from heliograph.flow.formats.model.field_values import CLASSES, Calendar, calendar, integer
from heliograph.flow.tree import Text

INTEGERS, DECIMALS, FLOATS = 0xF, 0xF0, 0xF00
"""Masks of an encoding number."""
REVERSED_INTEGERS, REVERSED_DECIMALS, REVERSED_FLOATS, HEXADECIMAL_FLOATS = 0x2, 0x20, 0x200, 0x300
NUMBERS = (Type.INTEGER, Type.DECIMAL)
CALENDARS = (Type.DATE, Type.TIME, Type.DATETIME)
PATTERNS = {Type.DATE: "yyyy-MM-dd", Type.TIME: "HH:mm:ss", Type.DATETIME: "yyyy-MM-dd'T'HH:mm:ss"}
INTEGER = re.compile(r"[+-]?[0-9]+").fullmatch
ENTITY = re.compile(r"%(?:#x([0-9A-Fa-f]+)|(NUL|SP));")


class Properties:
    """The properties of one field or group: its own, else those of the format."""

    def __init__(self, member_name: str, place: Any, own: Mapping[str, Any], form: PhysicalFormat, text: Text) -> None:
        self.name = member_name
        self.place = place
        self.own = own
        self.form = form
        self.text = text

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a property."""
        return self.own.get(name, self.form.properties.get(name, default))

    def problem(self, text: str) -> ModelProblem:
        """Return an error about this member."""
        return ModelProblem(self.place, f"{self.name} in {self.form.name}: {text}")

    @property
    def charset(self) -> Charset:
        """The character set of its text."""
        name = self.get("encoding")
        try:
            if name is None:
                return charset(self.text.ccsid, self.text.encoding)
            return charset(int(name), self.text.encoding) if name.isdigit() else named_charset(name)
        except (Problem, LookupError) as error:
            raise self.problem(f"encoding: {error}") from None

    def order(self, mask: int, reverse: int) -> str:
        """The byte order of numbers of a kind, in the letters of struct."""
        name = self.get("byteOrder")
        if name is not None:
            return "<" if name == "littleEndian" else ">"
        return "<" if self.text.encoding & mask == reverse else ">"


def shape_of(field: Field, properties: Properties) -> Shape:
    """The shape of a field."""
    text = properties.get("representation", "text" if field.type is Type.STRING else _usual(field, properties))
    if field.type is Type.STRING:
        if text == "binary":
            raise properties.problem("a string has representation text")
        return TextShape(field.type, _text_size(properties), "", properties.charset, **_padding(properties, "left"))
    if field.type is Type.BINARY:
        return _binary_shape(properties)
    if text == "text":
        return _text_shape(field, properties)
    if field.type is Type.FLOAT:
        return _float_shape(properties)
    if field.type in CALENDARS:
        return _binary_calendar(field, properties)
    return _binary_number(field, properties)


def _binary_shape(properties: Properties) -> Shape:
    size = _fixed_size(properties)
    if size is None or "padCharacter" not in properties.own:
        return Shape(Type.BINARY, size)
    fill = properties.charset.encode(_padding(properties, "left")["pad"])
    return FilledShape(Type.BINARY, size, "", fill[:1] if len(fill) == 1 else b"\0")


def _usual(field: Field, properties: Properties) -> str:
    """Return the default representation: text if the other properties imply it, otherwise binary."""
    if field.type in NUMBERS and properties.own.get("textNumberRep") is not None:
        return "text"
    if field.type in CALENDARS and properties.get("binaryCalendarRep") is None:
        return "text"
    return "binary"


def _fixed_size(properties: Properties, default: int | None = None) -> int | None:
    """The length in bytes; None if it differs from message to message."""
    length = properties.own.get("length", default)
    if properties.get("lengthKind", "explicit") != "explicit" or reference(length) is not None:
        return None
    if length is None:
        raise properties.problem("expected a length")
    if length < 1:
        raise properties.problem(f"length: expected at least 1, found {length}")
    return int(length)


def _text_size(properties: Properties, default: int | None = None) -> int | None:
    size = _fixed_size(properties, default)
    if size is None or properties.get("lengthUnits", "bytes") == "bytes":
        return size
    width = properties.charset.width
    return size * width if width else None


def characters_of(text: str) -> str:
    """The text with characters for their numbers and names."""
    return ENTITY.sub(lambda found: chr(int(found[1], 16)) if found[1] else {"NUL": "\0", "SP": " "}[found[2]], text)


def _padding(properties: Properties, justification: str, pad: str = " ") -> dict[str, str]:
    written = properties.get("padCharacter", pad)
    text = characters_of(written)
    if len(text) != 1:
        raise properties.problem(f"padCharacter: expected one character, found {written!r}")
    try:
        properties.charset.encode(text)
    except UnicodeError:
        raise properties.problem(f"padCharacter: {properties.charset.name} has no {written!r}") from None
    return {"justification": properties.get("justification", justification), "pad": text}


def _required(size: int | None, properties: Properties) -> int:
    if size is None:
        raise properties.problem("only strings and binary fields can have a length that is not fixed")
    return size


def _text_shape(field: Field, properties: Properties) -> Shape:
    if field.type in NUMBERS and properties.get("textNumberRep", "standard") == "zoned":
        return _zoned_shape(field, properties)
    if field.type in CALENDARS:
        pattern = _calendar(field, properties)
        size = _required(_text_size(properties, pattern.width * (properties.charset.width or 1)), properties)
        parse: Any = pattern.parse
        form: Any = pattern.format
        words, side = f"a {field.type.value}", "left"
    elif field.type is Type.BOOLEAN:
        size = _required(_text_size(properties), properties)
        true = properties.get("textBooleanTrueRep", "true")
        false = properties.get("textBooleanFalseRep", "false")
        parse, form = partial(_parse_boolean, true, false), partial(_format_boolean, true, false)
        words, side = f"{true} or {false}", "left"
    else:
        size = _required(_text_size(properties), properties)
        parse, form, words, side = *_number_text(field.type), "a number", "right"
    padding = _padding(properties, side)
    if padding["pad"] == "0":  # padding with zeros is part of the number: the sign stays in front of the zeros
        form = partial(_zero_filled, form, size // (properties.charset.width or 1))
        padding = {"justification": "left", "pad": " "}
    return TextNumberShape(field.type, size, "", properties.charset, **padding, parse=parse, format=form, words=words)


def _number_text(kind: Type) -> tuple[Any, Any]:
    if kind is Type.INTEGER:
        return _parse_integer, str
    return (_parse_decimal, "{:f}".format) if kind is Type.DECIMAL else (float, repr)


def _zero_filled(form: Any, width: int, value: Any) -> str:
    text: str = form(value)
    return text.zfill(width)


def _parse_integer(text: str) -> int:
    if INTEGER(text) is None:
        raise ValueError(repr(text))
    return integer(text)


def _parse_decimal(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise ValueError(repr(text)) from None
    if not number.is_finite():
        raise ValueError(repr(text))
    return number


def _parse_boolean(true: str, false: str, text: str) -> bool:
    if text not in (true, false):
        raise ValueError(repr(text))
    return text == true


def _format_boolean(true: str, false: str, value: bool) -> str:
    return true if value else false


def _zoned_shape(field: Field, properties: Properties) -> Shape:
    size = _required(_fixed_size(properties), properties)
    signed = properties.get("decimalSigned", True)
    sign = SignOrientation(properties.get("signOrientation", "trailing")) if signed else SignOrientation.NONE
    if size == 1 and sign in (SignOrientation.LEADING_SEPARATE, SignOrientation.TRAILING_SEPARATE):
        raise properties.problem("a separate sign leaves no digit in a length of 1")
    return zoned_shape(field.type, size, properties.get("virtualDecimalPoint", 0), _zones(properties), sign)


def _zones(properties: Properties) -> Zones:
    kind = properties.charset
    if kind.ebcdic:
        return EBCDIC
    if kind.encode("0") != b"0":
        raise properties.problem(f"a zoned number cannot be in {kind.name}")
    style = properties.get("textZonedSignStyle", "asciiStandard")
    return ASCII if style == "asciiStandard" else ASCII_TRANSLATED


def _float_shape(properties: Properties) -> Shape:
    size = _fixed_size(properties, 8)
    if size not in (4, 8):
        raise properties.problem(f"a floating-point number has a length of 4 or 8, found {size}")
    kind = properties.get("binaryFloatRep")
    hexadecimal = properties.text.encoding & FLOATS == HEXADECIMAL_FLOATS if kind is None else kind == "ibm390Hex"
    return FloatShape(Type.FLOAT, size, properties.order(FLOATS, REVERSED_FLOATS), hexadecimal)


def _binary_number(field: Field, properties: Properties) -> Shape:
    kind = properties.get("binaryNumberRep", "binary") if field.type in NUMBERS else "binary"
    scale = properties.get("virtualDecimalPoint", 0)
    signed = properties.get("decimalSigned", True)
    size = _required(_fixed_size(properties, 1 if field.type is Type.BOOLEAN else None), properties)
    if kind == "binary":
        if size not in (1, 2, 4, 8):
            raise properties.problem(f"a binary number has a length of 1, 2, 4 or 8, found {size}")
        return IntegerShape(field.type, size, properties.order(INTEGERS, REVERSED_INTEGERS), signed, scale)
    order = properties.order(DECIMALS, REVERSED_DECIMALS)
    room = 2 * size - (kind == "packed")
    digits = properties.get("digits", room)
    if not 1 <= digits <= room:
        raise properties.problem(f"digits: expected 1 to {room} in {size} bytes, found {digits}")
    if kind == "packed":
        return packed_shape(field.type, size, order, scale, signed, digits)
    return bcd_shape(field.type, size, order, scale, digits)


def _calendar(field: Field, properties: Properties, default: str | None = None) -> Calendar:
    pattern = properties.get("calendarPattern", default or PATTERNS[field.type])
    try:
        return calendar(pattern, CLASSES[field.type])
    except ValueError as error:
        raise properties.problem(f"calendarPattern: cannot read {pattern!r} from {str(error)!r} on") from None


def _binary_calendar(field: Field, properties: Properties) -> Shape:
    kind = properties.get("binaryCalendarRep", "packed")
    if kind in ("binarySeconds", "binaryMilliseconds"):
        size = _fixed_size(properties, 4 if kind == "binarySeconds" else 8)
        if size not in (4, 8) or field.type is not Type.DATETIME:
            raise properties.problem(f"{kind}: expected a dateTime in 4 or 8 bytes")
        order = properties.order(INTEGERS, REVERSED_INTEGERS)
        return binary_calendar(field.type, size, order, kind == "binaryMilliseconds")
    digits = "".join(character for character in PATTERNS[field.type].replace("'T'", "") if character.isalpha())
    pattern = _calendar(field, properties, digits)
    if not pattern.digits:
        raise properties.problem("calendarPattern: packed dates and times can only have digits")
    room = (pattern.width + 2) // 2 if kind == "packed" else (pattern.width + 1) // 2
    size = _required(_fixed_size(properties, room), properties)
    if size < room:
        raise properties.problem(f"length: expected at least {room} for the digits of the pattern, found {size}")
    order = properties.order(DECIMALS, REVERSED_DECIMALS)
    return packed_calendar(field.type, size, order, pattern, kind == "packed")
