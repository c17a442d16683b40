"""Datetimes as text and back, by a pattern of letters such as `yyyy-MM-dd HH:mm:ss.SSS`.

Letters: a d D e E F G h H I k K m M s S T w W y Y z Z, and U behind I, T or Z for `Z` in the place of `+00:00`. Text in
single quotes, two of them for one, and all that is not a letter, stand for themselves.

Policy: days of the week are numbered from Monday, weeks are those of ISO 8601, names are English. What a pattern does
not read is that of 1970-01-01 00:00:00. A text with an offset from Greenwich becomes local time, or Greenwich time
for the GMT types; without one it is taken as it stands. A field of two and more digits may have fewer, unless digits
of another field touch it. `yy` reads 53 to 99 as 1953 to 1999.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Any

from heliograph.flow.errors import BAD_ARGUMENT, CAST_FAILED, ConversionError, ExpressionError
from heliograph.flow.language.values import datetime_symbols
from heliograph.flow.language.values.datetime_symbols import (
    Fields,
    Item,
    Written,
    moment_of,
    offset_minutes,
    offset_text,
)
from heliograph.flow.language.values.times import GmtTime, GmtTimestamp, offset, time_to_local, to_local
from heliograph.flow.language.values.types import Type

# The letters I and T: whatever form of ISO 8601 a text has.
#
# Read are dates (also by week or by day of the year), times, and both, with or without hyphens and colons, down to a
# fraction and an offset; parts may be missing at the end. Written is the form with hyphens and colons, as much of it as
# the type has: three digits of fraction, or six if these are needed.

_DATE = r"[0-9]{4}-?W[0-9]{2}(?:-?[0-9])?|[0-9]{4}-?[0-9]{3}(?![0-9])|[0-9]{4}(?:-?[0-9]{2}(?:-?[0-9]{2})?)?"
_TIME = r"[0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2}(?:[.,][0-9]+)?)?)?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
_WEEK_DATE = re.compile(r"(?P<week_year>[0-9]{4})-?W(?P<week>[0-9]{2})(?:-?(?P<weekday>[0-9]))?", re.IGNORECASE)
_DAY_DATE = re.compile(r"(?P<year>[0-9]{4})-?(?P<yearday>[0-9]{3})")
_PLAIN_DATE = re.compile(r"(?P<year>[0-9]{4})(?:-?(?P<month>[0-9]{2})(?:-?(?P<day>[0-9]{2}))?)?")
_PLAIN_TIME = re.compile(
    r"(?P<hour>[0-9]{2})(?::?(?P<minute>[0-9]{2})(?::?(?P<second>[0-9]{2}))?)?(?:[.,]([0-9]+))?(Z|[+-].*)?",
    re.IGNORECASE,
)


def moment(zulu: bool) -> Item:
    """The letter I; with `zulu`, IU."""

    def write(written: Written) -> str:
        if not written.has_time:
            return written.moment.date().isoformat()
        clock = _clock_text(written, zulu)
        return f"{written.moment.date().isoformat()}T{clock}" if written.has_date else clock

    return Item(write, f"((?:{_DATE})T(?:{_TIME})|(?=[0-9]{{2}}:)(?:{_TIME})|T(?:{_TIME})|(?:{_DATE}))", _store_moment)


def clock(zulu: bool) -> Item:
    """The letter T; with `zulu`, TU."""
    return Item(lambda written: _clock_text(written, zulu), f"(T?{_TIME})", _store_clock)


def _clock_text(written: Written, zulu: bool) -> str:
    timespec = "microseconds" if written.moment.microsecond % 1000 else "milliseconds"
    return written.moment.time().isoformat(timespec) + offset_text(written.offset(), 3, zulu)


def _store_moment(fields: Fields, text: str) -> None:
    day, has_clock, clock_text = text.upper().partition("T")
    if not has_clock and ":" in day:
        day, clock_text = "", day
    if day:
        for form in (_WEEK_DATE, _DAY_DATE, _PLAIN_DATE):
            found = form.fullmatch(day)
            if found is not None:
                fields.update({field: int(digits) for field, digits in found.groupdict().items() if digits})
                break
    if clock_text:
        _store_clock(fields, clock_text)


def _store_clock(fields: Fields, text: str) -> None:
    found = _PLAIN_TIME.fullmatch(text.upper().removeprefix("T"))
    if found is None:
        raise ValueError(f"{text} is not a time of ISO 8601")
    fields.update({field: int(digits) for field, digits in found.groupdict().items() if digits})
    if found[4]:
        fields["micro"] = int(found[4].ljust(6, "0")[:6])
    if found[5]:
        fields["offset"] = offset_minutes(found[5])


_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|([^A-Za-z']+)")
_DIGITS = frozenset("dDeFhHkKmsSwWyY")
_DAY = date(1970, 1, 1)


def write(value: Any, pattern: str, now: datetime | None = None) -> str:
    """A datetime as the pattern has it. `now` tells a TIME its offset from Greenwich."""
    written = _written(value, now)
    return "".join([item.write(written) for item in _compiled(pattern).items])


def read(text: str, pattern: str, target: Type, now: datetime | None = None) -> Any:
    """The datetime of type `target` that `text` says. ConversionError if it is not as the pattern has it."""
    compiled = _compiled(pattern)
    found = compiled.expression.fullmatch(text.strip())
    if found is None:
        raise _unreadable(text, pattern, target, "")
    fields: Fields = {}
    try:
        for item, part in zip(compiled.items, found.groups(), strict=True):
            item.store(fields, part)
        moment = moment_of(fields)
        ahead = timedelta(minutes=fields["offset"]) if "offset" in fields else None
        return _as_target(moment, ahead, target, now)
    except (ValueError, OverflowError) as error:
        raise _unreadable(text, pattern, target, f": {error}") from None


def _unreadable(text: str, pattern: str, target: Type, why: str) -> ConversionError:
    shown = text if len(text) <= 100 else text[:100] + "..."
    return ConversionError(
        CAST_FAILED, f"'{shown}' is not a {target} of the form {pattern}{why}", (text, pattern, target)
    )


def _as_target(moment: datetime, ahead: timedelta | None, target: Type, now: datetime | None) -> Any:
    if target is Type.DATE:
        return moment.date()
    if target is Type.TIMESTAMP:
        return moment if ahead is None else to_local(GmtTimestamp(moment - ahead))
    if target is Type.GMTTIMESTAMP:
        return GmtTimestamp(moment if ahead is None else moment - ahead)
    clock = moment.time() if ahead is None else (datetime.combine(date(2000, 1, 2), moment.time()) - ahead).time()
    if target is Type.GMTTIME:
        return GmtTime(clock)
    return clock if ahead is None else time_to_local(GmtTime(clock), now)


def _written(value: Any, now: datetime | None) -> Written:
    kind = type(value)
    if kind is GmtTimestamp:
        return Written(value.moment, timedelta, lambda: "GMT", True, True)
    if kind is GmtTime:
        return Written(datetime.combine(_DAY, value.time), timedelta, lambda: "GMT", False, True)
    if kind is time:
        return Written(
            datetime.combine(_DAY, value),
            lambda: offset(now),
            lambda: (now or _midnight(_DAY)).astimezone().tzname() or "",
            False,
            True,
        )
    moment: datetime = _midnight(value) if kind is date else value
    return Written(
        moment,
        lambda: moment.astimezone().utcoffset() or timedelta(0),
        lambda: moment.astimezone().tzname() or "",
        True,
        kind is datetime,
    )


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)


@dataclass(frozen=True, slots=True)
class _Compiled:
    items: tuple[Item, ...]
    expression: re.Pattern[str]


@lru_cache(maxsize=1000)
def _compiled(pattern: str) -> _Compiled:
    tokens = list(_tokens(pattern))
    items = []
    for place, (letter, count, text) in enumerate(tokens):
        near = tokens[max(place - 1, 0) : place + 2]
        packed = len([other for other in near if _is_digits(other)]) > 1
        items.append(_item(pattern, letter, count, text, packed))
    return _Compiled(tuple(items), re.compile("".join([item.expression for item in items]), re.IGNORECASE))


_Token = tuple[str, int, str]


def _is_digits(token: _Token) -> bool:
    letter, count, _ = token
    return letter in _DIGITS or (letter == "M" and count < 3)


def _tokens(pattern: str) -> Iterator[_Token]:
    """Letters with their count; texts have none. A U is joined to the letters before it."""
    place = 0
    while place < len(pattern):
        found = _TOKEN.match(pattern, place)
        if found is None:
            raise _bad(pattern, f"the quote at {place + 1} is not closed")
        place = found.end()
        letter = found[2]
        if letter is None:
            # Nothing between two quotes: one quote.
            text = found[3] if found[1] is None else found[1].replace("''", "'") or "'"
            yield "", 0, text
            continue
        count = len(found[0])
        zulu = letter in "ITZ" and pattern.startswith("U", place)
        place += zulu
        yield letter, count, "U" if zulu else ""


def _item(pattern: str, letter: str, count: int, text: str, packed: bool) -> Item:
    if not letter:
        return datetime_symbols.literal(text, re.escape(text))
    if (letter == "M" and count >= 3) or letter == "E":
        return datetime_symbols.name(letter, count)
    if letter in "yY":
        return datetime_symbols.year(letter, count, packed)
    if letter == "S":
        return datetime_symbols.fraction(count, packed)
    if letter == "a":
        return datetime_symbols.half_of_day()
    if letter == "G":
        return datetime_symbols.era()
    if letter == "z":
        return datetime_symbols.zone_name()
    if letter == "Z":
        return datetime_symbols.zone_offset(count, bool(text))
    if letter == "I" and count == 1:
        return moment(bool(text))
    if letter == "T" and count == 1:
        return clock(bool(text))
    if letter in _DIGITS or letter == "M":
        return datetime_symbols.number(letter, count, packed)
    raise _bad(pattern, f"{letter * count} means nothing; text goes into single quotes")


def _bad(pattern: str, why: str) -> ExpressionError:
    return ExpressionError(BAD_ARGUMENT, f"{pattern!r} is not a pattern of a datetime: {why}", (pattern,))
