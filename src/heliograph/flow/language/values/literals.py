"""Values from text: what stands in a literal, and what CHARACTER is taken for when it is cast to another type.

Both forms are read: the bare one (`2000-03-29`, `0A0B`) and that of a literal (`DATE '2000-03-29'`, `X'0A0B'`), which
is what a value becomes when it is cast to CHARACTER. Blanks around either do not count.

Policy: a fraction of a second beyond microseconds is cut off; `T` may stand for the blank of a timestamp; INTEGER takes
neither a point nor an exponent nor hexadecimal digits; FLOAT or DECIMAL beyond its range is an error, not INF.
"""

import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import NoReturn

from heliograph.flow.errors import (
    CAST_FAILED,
    NOT_A_DECIMAL,
    NOT_A_FLOAT,
    NOT_AN_INTEGER,
    ConversionError,
)
from heliograph.flow.language.values import times
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.times import GmtTime, GmtTimestamp, Interval, Qualifier
from heliograph.flow.language.values.types import CONTEXT

MAX_INTEGER = 2**63 - 1
MIN_INTEGER = -(2**63)
_MAX_FLOAT = 1.7976931348623157e308

_NUMBER = re.compile(r"\s*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*")
_SPECIAL = re.compile(r"\s*([+-]?)(INF|INFINITY|NAN)\s*", re.IGNORECASE)
_DATE = r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
_TIME = r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.([0-9]*))?"


def _literal(word: str, content: str) -> re.Pattern[str]:
    """Bare content, or content as the literal of `word` has it; groups are those of `content`, once for each form."""
    return re.compile(rf"\s*(?:{content}|{word}\s*'\s*{content}\s*')\s*", re.IGNORECASE)


_DATES = _literal("DATE", _DATE)
_TIMES = _literal("TIME", _TIME)
_GMTTIMES = _literal("GMTTIME", _TIME)
_TIMESTAMPS = _literal("TIMESTAMP", rf"{_DATE}[ T]+{_TIME}")
_GMTTIMESTAMPS = _literal("GMTTIMESTAMP", rf"{_DATE}[ T]+{_TIME}")
_BLOBS = _literal("X", "((?:[0-9A-F]{2})*)")
_BITS = _literal("B", "([01]*)")
_INTERVALS = re.compile(r"\s*INTERVAL\s*'([^']*)'\s*([A-Z]+(?:\s+TO\s+[A-Z]+)?)\s*", re.IGNORECASE)
_BOOLEANS = {"TRUE": True, "FALSE": False, "UNKNOWN": None}


def _fail(text: str, kind: str, number: int = CAST_FAILED, why: str = "") -> NoReturn:
    shown = text if len(text) <= 100 else text[:100] + "..."
    raise ConversionError(number, f"'{shown}' is not {kind}{why}", (text, kind.rpartition(" ")[2])) from None


def to_integer(text: str) -> int:
    """An INTEGER of 64 bits."""
    try:
        value = int(text)
    except ValueError:
        _fail(text, "an INTEGER", NOT_AN_INTEGER)
    # Python reads more than ESQL writes: underscores, and digits of every script.
    if "_" in text or not text.isascii():
        _fail(text, "an INTEGER", NOT_AN_INTEGER)
    if MIN_INTEGER <= value <= MAX_INTEGER:
        return value
    _fail(text, "an INTEGER", NOT_AN_INTEGER, ": it does not fit 64 bits")


def to_float(text: str) -> float:
    """A FLOAT; INF and NAN can be written, too."""
    try:
        value = float(text)
    except ValueError:
        _fail(text, "a FLOAT", NOT_A_FLOAT)
    if -_MAX_FLOAT <= value <= _MAX_FLOAT and "_" not in text and text.isascii():
        return value
    if _SPECIAL.fullmatch(text) is None:
        _fail(text, "a FLOAT", NOT_A_FLOAT)
    return value


def to_decimal(text: str) -> Decimal:
    """A DECIMAL."""
    found = _NUMBER.fullmatch(text)
    if found is not None:
        value = CONTEXT.create_decimal(found[1])
        if value.is_finite():
            return value
        _fail(text, "a DECIMAL", NOT_A_DECIMAL, ": it is beyond its range")
    special = _SPECIAL.fullmatch(text)
    if special is None:
        _fail(text, "a DECIMAL", NOT_A_DECIMAL)
    return Decimal("NaN") if special[2].upper() == "NAN" else Decimal(special[1] + "Infinity")


def to_boolean(text: str) -> bool | None:
    """TRUE, FALSE, or UNKNOWN (None), in any case."""
    try:
        return _BOOLEANS[text.strip().upper()]
    except KeyError:
        _fail(text, "a BOOLEAN", why=", which is TRUE, FALSE or UNKNOWN")


def _groups(pattern: re.Pattern[str], text: str, kind: str) -> tuple[str | None, ...]:
    found = pattern.fullmatch(text)
    if found is None:
        _fail(text, kind)
    groups = found.groups()
    half = len(groups) // 2
    return groups[:half] if groups[0] is not None else groups[half:]


def to_blob(text: str) -> bytes:
    """A BLOB, from two hexadecimal digits for each byte."""
    return bytes.fromhex(_groups(_BLOBS, text, "a BLOB")[0] or "")


def to_bits(text: str) -> Bits:
    """A BIT, from digits 0 and 1."""
    return Bits(_groups(_BITS, text, "a BIT")[0] or "")


def _microseconds(fraction: str | None) -> int:
    return int(fraction.ljust(6, "0")[:6]) if fraction else 0


def _date(parts: tuple[str | None, ...]) -> date:
    year, month, day = map(int, filter(None, parts))
    return date(year, month, day)


def _time(parts: tuple[str | None, ...]) -> time:
    hour, minute, second = map(int, filter(None, parts[:3]))
    return time(hour, minute, second, _microseconds(parts[3]))


def to_date(text: str) -> date:
    """A DATE: `2004-02-29`."""
    parts = _groups(_DATES, text, "a DATE")
    try:
        return _date(parts)
    except ValueError as error:
        _fail(text, "a DATE", why=f": {error}")


def to_time(text: str) -> time:
    """A TIME: `12:34:56.789`."""
    return _checked_time(_TIMES, text, "a TIME")


def to_gmttime(text: str) -> GmtTime:
    """A GMTTIME, written like a TIME."""
    return GmtTime(_checked_time(_GMTTIMES, text, "a GMTTIME"))


def to_timestamp(text: str) -> datetime:
    """A TIMESTAMP: `2004-02-29 12:34:56.789`."""
    return _checked_timestamp(_TIMESTAMPS, text, "a TIMESTAMP")


def to_gmttimestamp(text: str) -> GmtTimestamp:
    """A GMTTIMESTAMP, written like a TIMESTAMP."""
    return GmtTimestamp(_checked_timestamp(_GMTTIMESTAMPS, text, "a GMTTIMESTAMP"))


def _checked_time(pattern: re.Pattern[str], text: str, kind: str) -> time:
    parts = _groups(pattern, text, kind)
    try:
        return _time(parts)
    except ValueError as error:
        _fail(text, kind, why=f": {error}")


def _checked_timestamp(pattern: re.Pattern[str], text: str, kind: str) -> datetime:
    parts = _groups(pattern, text, kind)
    try:
        return datetime.combine(_date(parts[:3]), _time(parts[3:]))
    except ValueError as error:
        _fail(text, kind, why=f": {error}")


def qualifier(words: str) -> Qualifier:
    """`YEAR TO MONTH` in any case and spacing. ValueError if there is no such qualifier."""
    return Qualifier(" ".join(words.upper().split()))


def to_interval(text: str, target: Qualifier | None = None) -> Interval:
    """The fields of a literal are its own; bare text needs `target`, which also recuts a literal to its fields."""
    found = _INTERVALS.fullmatch(text)
    try:
        if found is None:
            if target is None:
                _fail(text, "an INTERVAL", why=": without its fields only a whole literal is")
            return times.parse(text, target)
        value = times.parse(found[1], qualifier(found[2]))
        return value if target is None else recut(value, target)
    except ValueError as error:
        _fail(text, "an INTERVAL", why=f": {error}")


def recut(value: Interval, target: Qualifier) -> Interval:
    """The same interval in other fields. ValueError if they are of the other family."""
    if value.is_year_month is not target.is_year_month:
        raise ValueError(f"{value.qualifier.value} and {target.value} are of two families")
    return times.of_units(value.amount, target)


# By the Python type that the text has to become; INTERVAL is not here, since it needs its fields.
FROM_TEXT: dict[type, Callable[[str], object]] = {
    bool: to_boolean,
    int: to_integer,
    float: to_float,
    Decimal: to_decimal,
    bytes: to_blob,
    Bits: to_bits,
    date: to_date,
    time: to_time,
    datetime: to_timestamp,
    GmtTime: to_gmttime,
    GmtTimestamp: to_gmttimestamp,
}
