"""CAST, with its clauses, from one value or several.

Policy: a NULL source gives NULL, whatever DEFAULT says. DEFAULT takes the place of any failure, impossible pairs of
types included, and is itself converted to the target. CCSID and ENCODING turn BLOB and BIT into the characters they
stand for, and back; with ENCODING alone, CCSID is 1208. ENCODING also orders the bytes of an INTEGER. DECIMAL(p,s)
rounds half even to s digits after the point, and fails if more than p - s are before it.
"""

import math
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

from heliograph.flow.errors import CAST_FAILED, OVERFLOW, ConversionError
from heliograph.flow.language.values import ccsid as character_sets
from heliograph.flow.language.values import datetime_patterns, number_patterns
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.conversions import convert, refuse, to_interval, units
from heliograph.flow.language.values.times import GmtTime, GmtTimestamp, Interval, Qualifier, of_units, to_gmt, to_local
from heliograph.flow.language.values.types import DIGITS, EXACT, Type, character, fraction, type_of


class _NoDefault:
    """CAST without DEFAULT: not the same as DEFAULT NULL."""


NO_DEFAULT: Final = _NoDefault()

_NUMBERS = frozenset({Type.INTEGER, Type.FLOAT, Type.DECIMAL})
_DATETIMES = frozenset({Type.DATE, Type.TIME, Type.TIMESTAMP, Type.GMTTIME, Type.GMTTIMESTAMP})
_STRINGS = frozenset({Type.CHARACTER, Type.BLOB, Type.BIT})


def cast(
    values: Sequence[Any],
    target: Type,
    *,
    qualifier: Qualifier | None = None,
    precision: int | None = None,
    scale: int = 0,
    ccsid: int | None = None,
    encoding: int | None = None,
    format: str | None = None,  # noqa: A002 - the clause's name
    default: Any = NO_DEFAULT,
    now: datetime | None = None,
) -> Any:
    """CAST(values AS target ...). ConversionError if it cannot be and there is no DEFAULT.

    With one value and no clauses this is `conversions.convert`, and code that is compiled should call that.

    `precision` and `scale` are those of DECIMAL, `qualifier` that of INTERVAL. A clause without `CAST` having it is
    None.
    """
    for value in values:
        if value is None:
            return None
    try:
        if len(values) > 1:
            return _from_several(values, target, qualifier)
        if ccsid is None and encoding is None and format is None and precision is None and qualifier is None:
            return convert(values[0], target, now)
        result = _from_one(values[0], target, qualifier, ccsid, encoding, format, now)
        return result if precision is None or result is None else _fit(result, precision, scale)
    except ConversionError:
        if default is NO_DEFAULT:
            raise
    return convert(default, target, now)


def _from_one(
    value: Any,
    target: Type,
    qualifier: Qualifier | None,
    ccsid: int | None,
    encoding: int | None,
    pattern: str | None,
    now: datetime | None,
) -> Any:
    if qualifier is not None and target is Type.INTERVAL:
        return to_interval(value, qualifier)
    source = type_of(value)
    if pattern is not None:
        if source in _STRINGS and (target in _NUMBERS or target in _DATETIMES):
            text = _characters(value, ccsid, encoding)
            if target in _NUMBERS:
                return number_patterns.read(text, pattern, target)
            return datetime_patterns.read(text, pattern, target, now)
        if target in _STRINGS and (source in _NUMBERS or source in _DATETIMES):
            written = (
                number_patterns.write(value, pattern)
                if source in _NUMBERS
                else datetime_patterns.write(value, pattern, now)
            )
            return _string(written, target, ccsid, encoding)
    if ccsid is not None or encoding is not None:
        if source in _STRINGS and target in _STRINGS and Type.CHARACTER in (source, target):
            return _string(_characters(value, ccsid, encoding), target, ccsid, encoding)
        if encoding is not None and character_sets.byte_order(encoding) == "little":
            if source is Type.INTEGER and target in (Type.BLOB, Type.BIT):
                return convert(convert(value, Type.BLOB)[::-1], target)
            if source in (Type.BLOB, Type.BIT) and target is Type.INTEGER:
                return convert(convert(value, Type.BLOB)[::-1], target)
    return convert(value, target, now)


def _characters(value: Any, ccsid: int | None, encoding: int | None) -> str:
    """A value of a string type as the characters it stands for."""
    if type(value) is str:
        return value
    data: bytes = convert(value, Type.BLOB)
    return character_sets.decode(data, character_sets.UTF_8 if ccsid is None else ccsid, encoding or 0)


def _string(text: str, target: Type, ccsid: int | None, encoding: int | None) -> str | bytes | Bits:
    if target is Type.CHARACTER:
        return text
    data = character_sets.encode(text, character_sets.UTF_8 if ccsid is None else ccsid, encoding or 0)
    return data if target is Type.BLOB else Bits.from_bytes(data)


def _fit(value: Any, precision: int, scale: int) -> Any:
    """A DECIMAL with `scale` digits after the point, and `precision` in all."""
    if type(value) is not Decimal or not value.is_finite():
        return value
    rounded = value.quantize(Decimal((0, (1,), -scale)), context=EXACT)
    if len(rounded.as_tuple().digits) > min(precision, DIGITS) and rounded:
        raise ConversionError(
            OVERFLOW,
            f"{character(value)} does not fit DECIMAL({precision}, {scale})",
            (value, precision, scale),
        )
    return rounded


def _from_several(values: Sequence[Any], target: Type, qualifier: Qualifier | None) -> Any:
    count = len(values)
    try:
        if target is Type.INTERVAL and qualifier is not None and count == len(qualifier.fields):
            return _interval_of(values, qualifier)
        if target is Type.DATE and count == 3:
            return date(*_whole(values))
        if target is Type.TIME and count == 3:
            return _time_of(values)
        if target is Type.GMTTIME and count == 3:
            return GmtTime(_time_of(values))
        if target in (Type.TIMESTAMP, Type.GMTTIMESTAMP) and count in (2, 6):
            return _timestamp_of(values, target)
    except ValueError as error:
        shown = ", ".join(character(value) for value in values)
        raise ConversionError(CAST_FAILED, f"({shown}) is not a {target}: {error}", tuple(values)) from None
    kinds = ", ".join(type_of(value) for value in values)
    raise ConversionError(CAST_FAILED, f"({kinds}) cannot become {target}", tuple(values))


def _timestamp_of(values: Sequence[Any], target: Type) -> datetime | GmtTimestamp:
    if len(values) == 6:
        moment = datetime.combine(date(*_whole(values[:3])), _time_of(values[3:]))
        return moment if target is Type.TIMESTAMP else GmtTimestamp(moment)
    day, clock = values
    if type(day) is not date or type(clock) not in (time, GmtTime):
        raise ValueError("it is made of a DATE and a TIME")
    if type(clock) is GmtTime:
        gmt = GmtTimestamp(datetime.combine(day, clock.time))
        return gmt if target is Type.GMTTIMESTAMP else to_local(gmt)
    local = datetime.combine(day, clock)
    return local if target is Type.TIMESTAMP else to_gmt(local)


def _whole(values: Sequence[Any]) -> list[int]:
    return [convert(_number(value), Type.INTEGER) for value in values]


def _number(value: Any) -> Any:
    if type(value) not in (int, float, Decimal):
        refuse(value, "a field of a datetime")
    return value


def _time_of(values: Sequence[Any]) -> time:
    hour, minute = _whole(values[:2])
    seconds = _number(values[2])
    if not math.isfinite(seconds):
        raise ValueError("second must be a number")
    second, micros = divmod(math.trunc(fraction(seconds) * 1_000_000), 1_000_000)
    return time(hour, minute, second, micros)


def _interval_of(values: Sequence[Any], qualifier: Qualifier) -> Interval:
    amount = 0
    for field, value in zip(qualifier.fields, values, strict=True):
        if not math.isfinite(_number(value)):
            raise ValueError(f"{field} must be a number")
        amount += math.trunc(fraction(value) * units(field))
    return of_units(amount, qualifier)
