"""Every scalar function of ESQL by its name. The compiler looks here.

Functions with a syntax of their own are called with plain arguments:

| ESQL | call |
|---|---|
| SUBSTRING(s FROM n FOR m) | SUBSTRING(s, n, m) |
| SUBSTRING(s BEFORE t FOR m), SUBSTRING(s AFTER t FOR m) | SUBSTRING_BEFORE(s, t, m), SUBSTRING_AFTER(s, t, m) |
| POSITION(t IN s FROM n REPEAT k) | POSITION(t, s, n, k), n being 0 without FROM |
| OVERLAY(s PLACING t FROM n FOR m) | OVERLAY(s, t, n, m) |
| TRIM(BOTH c FROM s), LEADING, TRAILING | TRIM(s, c), LTRIM(s, c), RTRIM(s, c) |
| ROUND(x, n MODE m) | ROUND(x, n, "m") |
| EXTRACT(f FROM d) | EXTRACT("f", d) |

CURRENT_DATE and the like are in `CURRENT`: they get the time of the node's work on one message.
"""

import math
from calendar import isleap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from heliograph.flow.errors import BAD_ARGUMENT, ExpressionError
from heliograph.flow.language.values import functions_numeric as numeric
from heliograph.flow.language.values import functions_text as text
from heliograph.flow.language.values import times
from heliograph.flow.language.values.datetime_symbols import week_of_month
from heliograph.flow.language.values.functions_numeric import of_float
from heliograph.flow.language.values.types import type_of

# CURRENT_DATE and its kin, LOCAL_TIMEZONE, EXTRACT.
#
# `now` is handed in (with a zone, or local), one for all that a node does with one message.
#
# Policy: EXTRACT fails for a field that the type has not. SECOND is FLOAT, ISLEAPYEAR BOOLEAN, all else INTEGER. Days
# of the week count from Sunday, 1. DAYS, WEEKS, MONTHS, QUARTERS count from the beginning of year 1; the first day is
# 1, the others count what is over, from 0. Weeks of a year are those of ISO 8601, weeks of a month begin on Monday.


def current_date(now: datetime) -> date:
    """CURRENT_DATE."""
    return times.local_now(now).date()


def current_time(now: datetime) -> time:
    """CURRENT_TIME."""
    return times.local_now(now).time()


def current_timestamp(now: datetime) -> datetime:
    """CURRENT_TIMESTAMP."""
    return times.local_now(now)


def current_gmtdate(now: datetime) -> date:
    """CURRENT_GMTDATE."""
    return times.gmt_now(now).date()


def current_gmttime(now: datetime) -> times.GmtTime:
    """CURRENT_GMTTIME."""
    return times.GmtTime(times.gmt_now(now).time())


def current_gmttimestamp(now: datetime) -> times.GmtTimestamp:
    """CURRENT_GMTTIMESTAMP."""
    return times.GmtTimestamp(times.gmt_now(now))


def local_timezone(now: datetime) -> times.Interval:
    """How much local time is ahead of Greenwich."""
    return times.Interval(
        int(times.offset(now).total_seconds()) // 60 * times.MICROSECONDS["MINUTE"], times.Qualifier.HOUR_TO_MINUTE
    )


def extract(field: str, value: Any) -> int | float | bool | None:
    """EXTRACT(field FROM value): of a datetime or an interval."""
    if value is None:
        return None
    kind = type(value)
    if kind is times.Interval:
        if field in value.qualifier.fields:
            return _of_interval(field, value)
    else:
        if kind is times.GmtTimestamp:
            value = value.moment
        elif kind is times.GmtTime:
            value = value.time
        if field in _CLOCK_FIELDS and type(value) in (time, datetime):
            return _CLOCK_FIELDS[field](value)
        if field in _DAY_FIELDS and type(value) in (date, datetime):
            return _DAY_FIELDS[field](value)
    raise ExpressionError(BAD_ARGUMENT, f"{type_of(value)} has no {field}", ("EXTRACT", field, value))


def _of_interval(field: str, value: times.Interval) -> int | float:
    """What the field shows; each part of a negative interval is negative."""
    table = times.MONTHS if value.is_year_month else times.MICROSECONDS
    rest = abs(value.amount)
    for finer in value.qualifier.fields:
        count, rest = divmod(rest, table[finer])
        if finer == field:
            break
    sign = -1 if value.amount < 0 else 1
    return sign * (count + rest / 1_000_000) if field == "SECOND" else sign * count


_CLOCK_FIELDS: dict[str, Callable[[Any], int | float]] = {
    "HOUR": lambda value: value.hour,
    "MINUTE": lambda value: value.minute,
    "SECOND": lambda value: value.second + value.microsecond / 1_000_000,
}

_DAY_FIELDS: dict[str, Callable[[Any], int | bool]] = {
    "YEAR": lambda value: value.year,
    "MONTH": lambda value: value.month,
    "DAY": lambda value: value.day,
    "DAYS": lambda value: value.toordinal(),
    "DAYOFYEAR": lambda value: value.timetuple().tm_yday,
    "DAYOFWEEK": lambda value: value.isoweekday() % 7 + 1,
    "MONTHS": lambda value: (value.year - 1) * 12 + value.month - 1,
    "QUARTERS": lambda value: (value.year - 1) * 4 + (value.month - 1) // 3,
    "QUARTER": lambda value: (value.month + 2) // 3,
    "QUARTEROFYEAR": lambda value: (value.month + 2) // 3,
    "WEEKS": lambda value: (value.toordinal() - 1) // 7,
    "WEEKOFYEAR": lambda value: value.isocalendar().week,
    "WEEKOFMONTH": week_of_month,
    "ISLEAPYEAR": lambda value: isleap(value.year),
}

# Every field that EXTRACT knows.
EXTRACT_FIELDS = frozenset(_CLOCK_FIELDS) | frozenset(_DAY_FIELDS)

ANY_NUMBER = 1000


@dataclass(frozen=True, slots=True)
class Function:
    """`call` takes from `least` to `most` arguments, values of ESQL, and gives one."""

    call: Callable[..., Any]
    least: int
    most: int


def _one(call: Callable[..., Any]) -> Function:
    return Function(call, 1, 1)


def _two(call: Callable[..., Any]) -> Function:
    return Function(call, 2, 2)


FUNCTIONS: Mapping[str, Function] = {
    "ABS": _one(numeric.absolute),
    "ABSVAL": _one(numeric.absolute),
    "ACOS": _one(of_float("ACOS", math.acos)),
    "ASIN": _one(of_float("ASIN", math.asin)),
    "ATAN": _one(of_float("ATAN", math.atan)),
    "ATAN2": _two(numeric.atan2),
    "BITAND": Function(numeric.bit_and, 2, ANY_NUMBER),
    "BITNOT": _one(numeric.bit_not),
    "BITOR": Function(numeric.bit_or, 2, ANY_NUMBER),
    "BITXOR": Function(numeric.bit_xor, 2, ANY_NUMBER),
    "CEIL": _one(numeric.ceiling),
    "CEILING": _one(numeric.ceiling),
    "COS": _one(of_float("COS", math.cos)),
    "COSH": _one(of_float("COSH", math.cosh)),
    "COT": _one(numeric.cotangent),
    "DEGREES": _one(of_float("DEGREES", math.degrees)),
    "EXP": _one(of_float("EXP", math.exp)),
    "FLOOR": _one(numeric.floor),
    "LN": _one(of_float("LN", math.log)),
    "LOG": _one(of_float("LOG", math.log)),
    "LOG10": _one(of_float("LOG10", math.log10)),
    "MOD": _two(numeric.mod),
    "POWER": _two(numeric.power),
    "RADIANS": _one(of_float("RADIANS", math.radians)),
    "RAND": Function(numeric.random_number, 0, 1),
    "ROUND": Function(numeric.round_, 2, 3),
    "SIGN": _one(numeric.sign),
    "SIN": _one(of_float("SIN", math.sin)),
    "SINH": _one(of_float("SINH", math.sinh)),
    "SQRT": _one(numeric.square_root),
    "TAN": _one(of_float("TAN", math.tan)),
    "TANH": _one(of_float("TANH", math.tanh)),
    "TRUNCATE": _two(numeric.truncate),
    "CONTAINS": _two(text.contains),
    "ENDSWITH": _two(text.ends_with),
    "LCASE": _one(text.lower),
    "LEFT": _two(text.left),
    "LENGTH": _one(text.length),
    "LOWER": _one(text.lower),
    "LTRIM": Function(text.trim_leading, 1, 2),
    "OVERLAY": Function(text.overlay, 3, 4),
    "POSITION": Function(text.position, 2, 4),
    "REPLACE": Function(text.replace, 2, 3),
    "REPLICATE": _two(text.replicate),
    "RIGHT": _two(text.right),
    "RTRIM": Function(text.trim_trailing, 1, 2),
    "SPACE": _one(text.space),
    "STARTSWITH": _two(text.starts_with),
    "SUBSTRING": Function(text.substring, 2, 3),
    "SUBSTRING_AFTER": Function(text.substring_after, 2, 3),
    "SUBSTRING_BEFORE": Function(text.substring_before, 2, 3),
    "TRANSLATE": Function(text.translate, 2, 3),
    "TRIM": Function(text.trim, 1, 2),
    "UCASE": _one(text.upper),
    "UPPER": _one(text.upper),
    "BASE64DECODE": _one(text.base64_decode),
    "BASE64ENCODE": _one(text.base64_encode),
    "COALESCE": Function(text.coalesce, 1, ANY_NUMBER),
    "EXTRACT": _two(extract),
    "NULLIF": _two(text.nullif),
    "SLEEP": _one(text.sleep),
    "UUIDASBLOB": Function(text.uuid_as_blob, 0, 1),
    "UUIDASCHAR": Function(text.uuid_as_char, 0, 1),
}

CURRENT: Mapping[str, Callable[[datetime], Any]] = {
    "CURRENT_DATE": current_date,
    "CURRENT_GMTDATE": current_gmtdate,
    "CURRENT_GMTTIME": current_gmttime,
    "CURRENT_GMTTIMESTAMP": current_gmttimestamp,
    "CURRENT_TIME": current_time,
    "CURRENT_TIMESTAMP": current_timestamp,
    "LOCAL_TIMEZONE": local_timezone,
}
