"""Values in XML: the lexical forms of XML Schema types, and the checks of its facets."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.model import Field, Type
from heliograph.flow.formats.model.field_values import CLASSES, CONVERSIONS, integer

INTEGER = re.compile(r"[+-]?[0-9]+").fullmatch
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)").fullmatch
FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[Ee][+-]?[0-9]+)?|-?INF|NaN").fullmatch
DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:Z|[+-][0-9]{2}:[0-9]{2})?").fullmatch
CLOCK = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})?").fullmatch
MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})?"
).fullmatch
BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
LIMITS: Mapping[str, Callable[[Any, Any], bool]] = {
    "minInclusive": lambda value, limit: value >= limit,
    "maxInclusive": lambda value, limit: value <= limit,
    "minExclusive": lambda value, limit: value > limit,
    "maxExclusive": lambda value, limit: value < limit,
}
WORDS = {
    Type.STRING: "text",
    Type.INTEGER: "an integer of 64 bits",
    Type.DECIMAL: "a decimal number",
    Type.FLOAT: "a number",
    Type.BOOLEAN: "true or false",
    Type.BINARY: "binary data",
    Type.DATE: "a date like 2026-01-31",
    Type.TIME: "a time like 23:59:59",
    Type.DATETIME: "a date and time like 2026-01-31T23:59:59",
}


class XmlValues(NamedTuple):
    """Parser and formatter of one field. Both functions raise ValueError."""

    parse: Callable[[str], Any] | None
    """None if the text itself is the value."""
    show: Callable[[Any], str]
    """Text, not yet escaped."""
    expected: str


def values_of(field: Field, given: Mapping[str, Any]) -> XmlValues:
    """Return parser and formatter of a field."""
    encoding = given.get("binaryEncoding", "hex")
    parse = (
        _PARSERS[field.type] if field.type is not Type.BINARY else _from_base64 if encoding == "base64" else _from_hex
    )
    show = _SHOWERS[field.type] if field.type is not Type.BINARY else _to_base64 if encoding == "base64" else _to_hex
    checks, words = _facets(field, given)
    if not checks:
        return XmlValues(parse, show, WORDS[field.type])
    read = parse or str
    convert = CONVERSIONS[field.type]

    def parse_checked(text: str) -> Any:
        value = read(text)
        for check in checks:
            if not check(value, text):
                raise ValueError(text)
        return value

    def show_checked(value: Any) -> str:
        value = convert(value)
        text = show(value)
        for check in checks:
            if not check(value, text):
                raise ValueError(repr(value))
        return text

    return XmlValues(parse_checked, show_checked, f"{WORDS[field.type]} ({', '.join(words)})")


Check = Callable[[Any, str], bool]


def _facets(field: Field, given: Mapping[str, Any]) -> tuple[list[Check], list[str]]:
    checks: list[Check] = []
    words: list[str] = []
    if field.values:
        allowed = frozenset(field.values)
        checks.append(lambda value, text: value in allowed)
        words.append(f"one of {', '.join(map(str, field.values))}")
    if "pattern" in given:
        like = _pattern(field, given["pattern"])
        checks.append(lambda value, text: like(text) is not None)
        words.append(f"like {given['pattern']}")
    least, most = given.get("minLength", 0), given.get("maxLength")
    if least:
        checks.append(lambda value, text: len(value) >= least)
        words.append(f"{least} or more long")
    if most is not None:
        checks.append(lambda value, text: len(value) <= most)
        words.append(f"at most {most} long")
    for name, holds in LIMITS.items():
        if name in given:
            checks.append(_limit(field, given[name], holds))
            words.append(f"{name} {given[name]}")
    return checks, words


def _pattern(field: Field, pattern: str) -> Callable[[str], Any]:
    try:
        return re.compile(pattern).fullmatch
    except (re.error, OverflowError, RecursionError) as error:
        raise ModelProblem(field.place, f"pattern: {error} in {pattern[:200]!r}") from None


def _limit(field: Field, text: str, holds: Callable[[Any, Any], bool]) -> Check:
    try:
        limit = (_PARSERS[field.type] or str)(text)
    except ValueError:
        raise ModelProblem(
            field.place, f"{field.name}: expected {WORDS[field.type]} as a limit, found {text!r}"
        ) from None
    return lambda value, written: holds(value, limit)


def _parser(fits: Callable[[str], Any], make: Callable[[str], Any]) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        if fits(text) is None:
            text = text.strip(" \t\r\n")
            if fits(text) is None:
                raise ValueError(text)
        return make(text)

    return parse


def _date(text: str) -> date:
    return date.fromisoformat(text[:10])


def _time(text: str) -> time:
    return time.fromisoformat(_six_digits(text)).replace(tzinfo=None)


def _datetime(text: str) -> datetime:
    moment = datetime.fromisoformat(_six_digits(text))
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def _six_digits(text: str) -> str:
    """Cut fractions of a second to six digits, the most that Python's `time` has."""
    return re.sub(r"(\.[0-9]{6})[0-9]+", r"\1", text)


def _boolean(text: str) -> bool:
    value = BOOLEANS.get(text.strip(" \t\r\n"))
    if value is None:
        raise ValueError(text)
    return value


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except binascii.Error:
        raise ValueError(text) from None


def _from_hex(text: str) -> bytes:
    return bytes.fromhex(text)


def _to_base64(value: Any) -> str:
    return base64.b64encode(CONVERSIONS[Type.BINARY](value)).decode()


def _to_hex(value: Any) -> str:
    text: str = CONVERSIONS[Type.BINARY](value).hex()
    return text.upper()


def _float(text: str) -> float:
    return float(text.lower())


def _shower(kind: Type, show: Callable[[Any], str]) -> Callable[[Any], str]:
    same, convert = CLASSES[kind], CONVERSIONS[kind]
    return lambda value: show(value if value.__class__ is same else convert(value))


def _show_decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise ValueError(str(value))
    return f"{value:f}"


def _show_float(value: float) -> str:
    return {"inf": "INF", "-inf": "-INF", "nan": "NaN"}.get(text := repr(value), text)


_PARSERS: Mapping[Type, Callable[[str], Any] | None] = {
    Type.STRING: None,
    Type.INTEGER: _parser(INTEGER, integer),
    Type.DECIMAL: _parser(NUMBER, Decimal),
    Type.FLOAT: _parser(FLOAT, _float),
    Type.BOOLEAN: _boolean,
    Type.BINARY: _from_hex,
    Type.DATE: _parser(DAY, _date),
    Type.TIME: _parser(CLOCK, _time),
    Type.DATETIME: _parser(MOMENT, _datetime),
}
_SHOWERS: Mapping[Type, Callable[[Any], str]] = {
    Type.STRING: _shower(Type.STRING, str),
    Type.INTEGER: _shower(Type.INTEGER, str),
    Type.DECIMAL: _shower(Type.DECIMAL, _show_decimal),
    Type.FLOAT: _shower(Type.FLOAT, _show_float),
    Type.BOOLEAN: _shower(Type.BOOLEAN, lambda value: "true" if value else "false"),
    Type.DATE: _shower(Type.DATE, date.isoformat),
    Type.TIME: _shower(Type.TIME, time.isoformat),
    Type.DATETIME: _shower(Type.DATETIME, datetime.isoformat),
}
