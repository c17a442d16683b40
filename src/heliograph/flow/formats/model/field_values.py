"""Values of fields that several physical formats treat in the same way: conversion of types, and calendar patterns.

When a value of another type is written, it is converted as by ESQL's implicit cast, with two exceptions: a date becomes
a dateTime at midnight, not at the current time, and text may be a date or time as XML writes it. Each conversion raises
ValueError, with the value as an error message shows it.
"""

import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

from heliograph.flow.errors import EsqlError
from heliograph.flow.formats.model.logical import Type
from heliograph.flow.language.values.conversions import convert
from heliograph.flow.language.values.literals import MAX_INTEGER, MIN_INTEGER
from heliograph.flow.language.values.types import Type as EsqlType

MIDNIGHT = datetime(1970, 1, 1)
"""Where ESQL looks for the hours that a date does not have."""


def shown(value: object) -> str:
    """A value as a problem shows it."""
    return "nothing" if value is None else f"{value!r} ({type(value).__name__})"


def integer(text: str) -> int:
    """The integer in digits, with a sign or without, if ESQL's integers can hold it."""
    number = int(text)
    if MIN_INTEGER <= number <= MAX_INTEGER:
        return number
    raise ValueError(text)


def _converted(target: EsqlType, value: Any) -> Any:
    try:
        result = convert(value, target, MIDNIGHT)
    except EsqlError:
        result = None
    if result is None:
        raise ValueError(shown(value))
    return result


def _moment(target: EsqlType, kind: Any, value: Any) -> Any:
    try:
        moment = kind.fromisoformat(value) if isinstance(value, str) else _converted(target, value)
    except ValueError:
        return _converted(target, value)
    return moment if kind is date else moment.replace(tzinfo=None)


as_string: Callable[[Any], str] = partial(_converted, EsqlType.CHARACTER)
as_binary: Callable[[Any], bytes] = partial(_converted, EsqlType.BLOB)

CONVERSIONS: dict[Type, Callable[[Any], Any]] = {
    Type.STRING: as_string,
    Type.INTEGER: partial(_converted, EsqlType.INTEGER),
    Type.DECIMAL: partial(_converted, EsqlType.DECIMAL),
    Type.FLOAT: partial(_converted, EsqlType.FLOAT),
    Type.BOOLEAN: partial(_converted, EsqlType.BOOLEAN),
    Type.BINARY: as_binary,
    Type.DATE: partial(_moment, EsqlType.DATE, date),
    Type.TIME: partial(_moment, EsqlType.TIME, time),
    Type.DATETIME: partial(_moment, EsqlType.TIMESTAMP, datetime),
}
"""Conversion to each type."""

CLASSES: dict[Type, type] = {
    Type.STRING: str,
    Type.INTEGER: int,
    Type.DECIMAL: Decimal,
    Type.FLOAT: float,
    Type.BOOLEAN: bool,
    Type.BINARY: bytes,
    Type.DATE: date,
    Type.TIME: time,
    Type.DATETIME: datetime,
}
"""The class that values of each type have; values of just this class need no conversion."""

# Dates and times in a fixed number of characters: `yyyyMMdd`, `yyyy-MM-dd'T'HH:mm:ss.SSS`, `yyDDD`.

PIECES = re.compile(r"(yyyy|yy|MM|DDD|dd|HH|mm|ss|S{1,6})|'([^']*)'|([^A-Za-z'])")
CENTURY_FROM = 53
"""Two-digit years from here are of the 1900s, those before of the 2000s."""

Moment = date | time | datetime


class Calendar(NamedTuple):
    """A pattern, ready for use."""

    width: int
    """Characters."""
    digits: bool
    """Whether there is nothing but digits, as packed dates need."""
    parse: Callable[[str], Moment]
    """Raises ValueError."""
    format: Callable[[Moment], str]


def calendar(pattern: str, kind: type[Moment]) -> Calendar:
    """The pattern for values of this class. Raises ValueError if it cannot be read in a fixed width."""
    pieces: list[tuple[str, str]] = []
    at = 0
    while at < len(pattern):
        found = PIECES.match(pattern, at)
        if found is None:
            raise ValueError(pattern[at:])
        pieces.append((found[1] or "", (found[2] if found[2] is not None else found[3]) or ""))
        at = found.end()
    width = sum(len(symbol) or len(literal) for symbol, literal in pieces)
    digits = all(symbol for symbol, _ in pieces)
    return Calendar(width, digits, _parser(pieces, width, kind), _formatter(pieces))


def _parser(pieces: list[tuple[str, str]], width: int, kind: type[Moment]) -> Callable[[str], Moment]:
    spans: list[tuple[str, str, int, int]] = []
    at = 0
    for symbol, literal in pieces:
        end = at + len(symbol or literal)
        spans.append((symbol[:1] if symbol != "yy" else "yy", literal, at, end))
        at = end

    def parse(text: str) -> Moment:
        if len(text) != width:
            raise ValueError(text)
        parts = {"y": 1, "M": 1, "d": 1, "H": 0, "m": 0, "s": 0}
        for symbol, literal, start, end in spans:
            piece = text[start:end]
            if literal:
                if piece != literal:
                    raise ValueError(text)
                continue
            if not (piece.isascii() and piece.isdigit()):
                raise ValueError(text)
            parts[symbol] = int(piece.ljust(6, "0") if symbol == "S" else piece)
        return _moment_of(parts, kind)

    return parse


def _moment_of(parts: dict[str, int], kind: type[Moment]) -> Moment:
    if "yy" in parts:
        parts["y"] = parts["yy"] + (1900 if parts["yy"] >= CENTURY_FROM else 2000)
    clock = (parts["H"], parts["m"], parts["s"], parts.get("S", 0))
    if kind is time:
        return time(*clock)
    whole = datetime(parts["y"], parts["M"], parts["d"], *clock)  # local, as ESQL's
    if "D" in parts:
        whole += timedelta(days=parts["D"] - 1)
    return whole if kind is datetime else whole.date()


def _formatter(pieces: list[tuple[str, str]]) -> Callable[[Moment], str]:
    def piece(symbol: str, moment: Moment) -> str:
        if symbol == "yyyy":
            return f"{moment.year:04}"  # type: ignore[union-attr]
        if symbol == "DDD":
            return f"{moment.timetuple().tm_yday:03}"  # type: ignore[union-attr]
        if symbol[0] == "S":
            return f"{moment.microsecond:06}"[: len(symbol)]  # type: ignore[union-attr]
        number: int = getattr(moment, ATTRIBUTES[symbol])
        return f"{number % 100:02}"

    return lambda moment: "".join(piece(symbol, moment) if symbol else literal for symbol, literal in pieces)


ATTRIBUTES = {"yy": "year", "MM": "month", "dd": "day", "HH": "hour", "mm": "minute", "ss": "second"}
