"""One value to another type, without clauses: implicit assignment, and what CAST starts from.

Policy: INTEGER from FLOAT or DECIMAL is cut towards zero; from BLOB or BIT it takes exactly 8 bytes or 64 bits, which
is also what it becomes. A number and an INTERVAL of a single field convert into each other. DATE and TIME become
timestamps with the rest taken from the current time; GMT becomes local, and the other way, on the way to what is asked.
"""

import math
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, NoReturn

from heliograph.flow.errors import CAST_FAILED, ConversionError
from heliograph.flow.language.values import literals
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.literals import MAX_INTEGER, MIN_INTEGER
from heliograph.flow.language.values.times import (
    MICROSECONDS,
    MONTHS,
    GmtTime,
    GmtTimestamp,
    Interval,
    Qualifier,
    gmt_now,
    local_now,
    of_units,
    time_to_gmt,
    time_to_local,
    to_gmt,
    to_local,
)
from heliograph.flow.language.values.types import CONTEXT, Type, character, fraction, from_float, type_of


def convert(value: Any, target: Type, now: datetime | None = None) -> Any:
    """`value` as a value of `target`; NULL stays NULL. ConversionError if it cannot be.

    `now` is for conversions that take what they lack from the current time. This is what assigning to a variable does:
    an INTERVAL comes from a literal only, which has its fields in it.
    """
    try:
        work = _PLAIN[target][type(value)]
    except KeyError:
        return _with_now(value, target, now)
    return work(value)


def to_interval(value: Any, qualifier: Qualifier) -> Interval:
    """A value that is not NULL as an INTERVAL of these fields."""
    kind = type(value)
    if kind is str:
        return literals.to_interval(value, qualifier)
    if kind is Interval:
        try:
            return literals.recut(value, qualifier)
        except ValueError:
            refuse(value, f"INTERVAL {qualifier}")
    if kind not in (int, float, Decimal) or len(qualifier.fields) > 1 or not math.isfinite(value):
        refuse(value, f"INTERVAL {qualifier}")
    return of_units(math.trunc(fraction(value) * units(qualifier.first)), qualifier)


def units(field: str) -> int:
    """How many months or microseconds one of `field` is."""
    return MONTHS.get(field) or MICROSECONDS[field]


def refuse(value: Any, target: str, why: str = "") -> NoReturn:
    """Raise the `ConversionError` of a value that cannot become of the target type."""
    source = type_of(value).value
    raise ConversionError(
        CAST_FAILED, f"{source} {character(value)[:100]} cannot become {target}{why}", (source, target, value)
    )


def _with_now(value: Any, target: Type, now: datetime | None) -> Any:
    if value is None:
        return None
    work = _BY_NOW.get((type(value), target))
    if work is None:
        refuse(value, target)
    return work(value, now)


def _same(value: Any) -> Any:
    return value


def _integer(number: float | Decimal) -> int:
    if math.isfinite(number):
        result = math.trunc(number)
        if MIN_INTEGER <= result <= MAX_INTEGER:
            return result
    refuse(number, Type.INTEGER, ": it does not fit 64 bits")


def _integer_of_bytes(data: bytes) -> int:
    if len(data) != 8:
        refuse(data, Type.INTEGER, ": it needs 8 bytes")
    return int.from_bytes(data, "big", signed=True)


def _integer_of_bits(value: Bits) -> int:
    if len(value) != 64:
        refuse(value, Type.INTEGER, ": it needs 64 bits")
    return int.from_bytes(value.to_bytes(), "big", signed=True)


def _blob_of_bits(value: Bits) -> bytes:
    if len(value) % 8:
        refuse(value, Type.BLOB, ": it needs whole bytes")
    return value.to_bytes()


def _blob_of_integer(number: int) -> bytes:
    return number.to_bytes(8, "big", signed=True)


def _number_of_interval(value: Interval, target: Type) -> Decimal:
    if len(value.qualifier.fields) > 1:
        refuse(value, target, ": it has more fields than one")
    return CONTEXT.divide(Decimal(value.amount), Decimal(units(value.qualifier.first)))


def _current(value: Any, target: Type, now: datetime | None) -> datetime:
    if now is None:
        refuse(value, target, " without the current time")
    return now


def _timestamp_of_date(value: date, now: datetime | None) -> datetime:
    return datetime.combine(value, local_now(_current(value, Type.TIMESTAMP, now)).time())


def _timestamp_of_time(value: time, now: datetime | None) -> datetime:
    return datetime.combine(local_now(_current(value, Type.TIMESTAMP, now)).date(), value)


def _timestamp_of_gmttime(value: GmtTime, now: datetime | None) -> datetime:
    return to_local(_gmttimestamp_of_gmttime(value, now))


def _gmttimestamp_of_gmttime(value: GmtTime, now: datetime | None) -> GmtTimestamp:
    return GmtTimestamp(datetime.combine(gmt_now(_current(value, Type.GMTTIMESTAMP, now)).date(), value.time))


_PLAIN: dict[Type, dict[type, Callable[[Any], Any]]] = {
    Type.NULL: {},
    Type.BOOLEAN: {bool: _same, str: literals.to_boolean},
    Type.INTEGER: {
        int: _same,
        str: literals.to_integer,
        float: _integer,
        Decimal: _integer,
        bytes: _integer_of_bytes,
        Bits: _integer_of_bits,
        Interval: lambda value: _integer(_number_of_interval(value, Type.INTEGER)),
    },
    Type.FLOAT: {
        float: _same,
        str: literals.to_float,
        int: float,
        Decimal: float,
        Interval: lambda value: float(_number_of_interval(value, Type.FLOAT)),
    },
    Type.DECIMAL: {
        Decimal: _same,
        str: literals.to_decimal,
        int: CONTEXT.create_decimal,
        float: from_float,
        Interval: lambda value: _number_of_interval(value, Type.DECIMAL),
    },
    Type.CHARACTER: dict.fromkeys(
        (str, int, float, Decimal, bool, bytes, Bits, date, time, datetime, GmtTime, GmtTimestamp, Interval), character
    ),
    Type.BLOB: {bytes: _same, str: literals.to_blob, Bits: _blob_of_bits, int: _blob_of_integer},
    Type.BIT: {
        Bits: _same,
        str: literals.to_bits,
        bytes: Bits.from_bytes,
        int: lambda number: Bits.from_bytes(_blob_of_integer(number)),
    },
    Type.DATE: {
        date: _same,
        str: literals.to_date,
        datetime: datetime.date,
        GmtTimestamp: lambda value: to_local(value).date(),
    },
    Type.TIME: {
        time: _same,
        str: literals.to_time,
        datetime: datetime.time,
        GmtTimestamp: lambda value: to_local(value).time(),
    },
    Type.TIMESTAMP: {datetime: _same, str: literals.to_timestamp, GmtTimestamp: to_local},
    Type.GMTTIME: {
        GmtTime: _same,
        str: literals.to_gmttime,
        datetime: lambda value: GmtTime(to_gmt(value).moment.time()),
        GmtTimestamp: lambda value: GmtTime(value.moment.time()),
    },
    Type.GMTTIMESTAMP: {GmtTimestamp: _same, str: literals.to_gmttimestamp, datetime: to_gmt},
    Type.INTERVAL: {Interval: _same, str: literals.to_interval},
}

_BY_NOW: dict[tuple[type, Type], Callable[[Any, datetime | None], Any]] = {
    (time, Type.GMTTIME): time_to_gmt,
    (GmtTime, Type.TIME): time_to_local,
    (date, Type.TIMESTAMP): _timestamp_of_date,
    (date, Type.GMTTIMESTAMP): lambda value, now: to_gmt(_timestamp_of_date(value, now)),
    (time, Type.TIMESTAMP): _timestamp_of_time,
    (time, Type.GMTTIMESTAMP): lambda value, now: to_gmt(_timestamp_of_time(value, now)),
    (GmtTime, Type.TIMESTAMP): _timestamp_of_gmttime,
    (GmtTime, Type.GMTTIMESTAMP): _gmttimestamp_of_gmttime,
}
