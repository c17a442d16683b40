"""Field values as text: parsing and formatting."""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import Any, NamedTuple

from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.model import Field, Type
from heliograph.flow.formats.model.field_values import CLASSES, CONVERSIONS, calendar, integer

Parse = Callable[[str], Any]
Show = Callable[[Any], str]

INTEGER = re.compile(r"[+-]?[0-9]+").fullmatch
STRICT_INTEGER = re.compile(r"-?[0-9]+").fullmatch
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)").fullmatch
STRICT_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?").fullmatch
"""Strict: no blanks around, no plus sign, digits on both sides of a point."""
FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[Ee][+-]?[0-9]+)?").fullmatch
ISO: dict[Type, Any] = {Type.DATE: date, Type.TIME: time, Type.DATETIME: datetime}


class Values(NamedTuple):
    """Parser and formatter of one field. Both functions raise ValueError."""

    parse: Parse | None
    """None if the text itself is the value."""
    show: Show
    expected: str


def values_of(field: Field, properties: Mapping[str, Any]) -> Values:
    """Return parser and formatter of a field."""
    kind = field.type
    if kind in (Type.INTEGER, Type.DECIMAL, Type.FLOAT):
        values = _numbers(kind, properties["strictNumericChecking"], properties["decimalSeparator"])
    elif kind in ISO:
        values = _moments(field, properties["calendarPattern"])
    elif kind is Type.BOOLEAN:
        values = _booleans(properties["textBooleanTrueRep"], properties["textBooleanFalseRep"])
    elif kind is Type.BINARY:
        values = Values(
            bytes.fromhex, lambda value: CONVERSIONS[Type.BINARY](value).hex().upper(), "hexadecimal digits"
        )
    else:
        values = Values(None, CONVERSIONS[Type.STRING], "text")
    return _limited(field, values) if field.values else values


def _limited(field: Field, values: Values) -> Values:
    """Accept only the values that the model lists."""
    allowed = frozenset(field.values)
    parse = values.parse or str
    convert = CONVERSIONS[field.type]

    def parse_allowed(text: str) -> Any:
        value = parse(text)
        if value not in allowed:
            raise ValueError(text)
        return value

    def show_allowed(value: Any) -> str:
        if convert(value) not in allowed:
            raise ValueError(repr(value))
        return values.show(value)

    return Values(parse_allowed, show_allowed, f"one of {', '.join(map(str, field.values))}")


def _numbers(kind: Type, strict: bool, separator: str) -> Values:
    if kind is Type.INTEGER:
        fits = STRICT_INTEGER if strict else INTEGER
        expected = "an integer of 64 bits"
    elif kind is Type.DECIMAL:
        fits = STRICT_NUMBER if strict else NUMBER
        expected = "a decimal number"
    else:
        fits = FLOAT
        expected = "a number"
    make = integer if kind is Type.INTEGER else CLASSES[kind]
    convert = CONVERSIONS[kind]
    usual = separator == "."

    def parse(text: str) -> Any:
        if usual and fits(text) is not None:
            return make(text)
        plain = text if strict else text.strip(" ")
        if separator != ".":
            plain = plain.replace(".", " ").replace(separator, ".")  # a blank in a number never fits
        if fits(plain) is None:
            raise ValueError(text)
        return make(plain)

    def show(value: Any) -> str:
        number = convert(value)
        text = f"{number:f}" if kind is Type.DECIMAL else repr(number)
        if fits(text) is None:
            raise ValueError(repr(value))  # not a number, or infinite
        return text.replace(".", separator) if separator != "." else text

    return Values(parse, show, expected)


def _moments(field: Field, pattern: str) -> Values:
    made = ISO[field.type]
    convert = CONVERSIONS[field.type]
    if not pattern:
        return Values(made.fromisoformat, lambda value: convert(value).isoformat(), f"a {field.type.value} of ISO 8601")
    try:
        both = calendar(pattern, CLASSES[field.type])
    except ValueError as error:
        raise ModelProblem(field.place, f"calendarPattern: cannot use {error} in {pattern!r}") from None
    return Values(both.parse, lambda value: both.format(convert(value)), f"a {field.type.value} like {pattern}")


def _booleans(true: str, false: str) -> Values:
    known = {true: True, false: False}
    convert = CONVERSIONS[Type.BOOLEAN]

    def parse(text: str) -> bool:
        if text not in known:
            raise ValueError(text)
        return known[text]

    return Values(parse, lambda value: true if convert(value) else false, f"{true} or {false}")


def padded(text: str, length: int, pad: str, justification: str) -> str:
    """The text in this many characters. Raises ValueError if it has more."""
    if len(text) > length:
        raise ValueError(f"{text!r} of {len(text)} characters")
    pad = pad or " "
    if justification == "right":
        sign = text[:1] if pad == "0" and text[:1] in ("-", "+") else ""
        return sign + text[len(sign) :].rjust(length - len(sign), pad)
    return text.ljust(length, pad) if justification == "left" else text.center(length, pad)


def unpadded(text: str, pad: str, justification: str) -> str:
    """Return the text without padding; of a number padded with zeros, one digit stays."""
    pad = pad or " "
    if justification == "right":
        return text if pad == "0" else text.lstrip(pad)
    return text.rstrip(pad) if justification == "left" else text.strip(pad)
