"""The text form of a value: what CAST to CHARACTER gives, and what a format without types of its own writes.

Policy: FLOAT has the shortest mantissa that says it within 15 digits, one digit before the point, no point if nothing
follows it, and an exponent with a sign: `4.472E+1`, `1E+0`, `0E+0` (for -0.0 too), `INF`, `-INF`, `NAN`. Times have
three digits of fraction if these say all, else six, and none for a whole second.
"""

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.intervals import Interval
from heliograph.flow.language.values.types import type_of
from heliograph.flow.language.values.zone import GmtTime, GmtTimestamp


def character(value: Any) -> str:
    """The text form of a value that is not NULL."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if kind is int:
        return str(value)
    try:
        return _FORMS[kind](value)
    except KeyError:
        type_of(value)
        raise ValueError("NULL has no text form") from None


def float_text(value: float) -> str:
    text = f"{value:.14E}"
    # Slices and a table, since every number of a message may pass here: 4.47200000000000E+01.
    exponent = _EXPONENTS.get(text[-4:])
    if exponent is not None:
        mantissa = text[:-4].rstrip("0")
        if mantissa[-1] != ".":
            return mantissa + exponent
        return mantissa[:-1] + exponent if value else "0E+0"
    mantissa, _, digits = text.partition("E")
    return f"{mantissa.rstrip('0').rstrip('.')}E{int(digits):+d}" if digits else mantissa


def decimal_text(value: Decimal) -> str:
    if value.is_finite():
        return str(value)
    if value.is_nan():
        return "NAN"
    return "INF" if value > 0 else "-INF"


def time_text(value: time) -> str:
    micros = value.microsecond
    if not micros:
        return value.isoformat("seconds")
    return value.isoformat("microseconds" if micros % 1000 else "milliseconds")


def timestamp_text(value: datetime) -> str:
    return f"{value.date().isoformat()} {time_text(value.time())}"


_EXPONENTS = {f"E{number:+03d}": f"E{number:+d}" for number in range(-99, 100)} | {"E-00": "E+0"}
_FORMS: dict[type, Callable[[Any], str]] = {
    bool: lambda value: "TRUE" if value else "FALSE",
    float: float_text,
    Decimal: decimal_text,
    bytes: lambda value: f"X'{value.hex()}'",
    Bits: lambda value: f"B'{value.digits}'",
    date: lambda value: f"DATE '{value.isoformat()}'",
    time: lambda value: f"TIME '{time_text(value)}'",
    datetime: lambda value: f"TIMESTAMP '{timestamp_text(value)}'",
    GmtTime: lambda value: f"GMTTIME '{time_text(value.time)}'",
    GmtTimestamp: lambda value: f"GMTTIMESTAMP '{timestamp_text(value.moment)}'",
    Interval: lambda value: f"INTERVAL '{value.text()}' {value.qualifier.value}",
}


def bare_text(value: Any) -> str:
    """The text form without the word and the quotes of a literal: `2003-04-01`, not `DATE '2003-04-01'`."""
    form = _BARE_FORMS.get(type(value))
    return form(value) if form is not None else character(value)


_BARE_FORMS: dict[type, Callable[[Any], str]] = {
    bytes: bytes.hex,
    Bits: lambda value: value.digits,
    date: date.isoformat,
    time: time_text,
    datetime: timestamp_text,
    GmtTime: lambda value: time_text(value.time),
    GmtTimestamp: lambda value: timestamp_text(value.moment),
}


def schema_text(value: Any) -> str:
    """The text form, but for what XML Schema has a form of: `2003-04-01T09:30:00`, `true`, `0A` (hexBinary)."""
    form = _SCHEMA_FORMS.get(type(value))
    return form(value) if form is not None else character(value)


_SCHEMA_FORMS: dict[type, Callable[[Any], str]] = {
    bool: lambda value: "true" if value else "false",
    bytes: lambda value: value.hex().upper(),
    date: date.isoformat,
    time: time_text,
    datetime: lambda value: timestamp_text(value).replace(" ", "T"),
    GmtTime: lambda value: f"{time_text(value.time)}Z",
    GmtTimestamp: lambda value: f"{timestamp_text(value.moment).replace(' ', 'T')}Z",
}
