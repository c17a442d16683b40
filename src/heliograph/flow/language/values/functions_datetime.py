"""CURRENT_DATE and its kin, LOCAL_TIMEZONE, EXTRACT.

`now` is handed in (with a zone, or local), one for all that a node does with one message.

Policy: EXTRACT fails for a field that the type has not. SECOND is FLOAT, ISLEAPYEAR BOOLEAN, all else INTEGER. Days of
the week count from Sunday, 1. DAYS, WEEKS, MONTHS, QUARTERS count from the beginning of year 1; the first day is 1, the
others count what is over, from 0. Weeks of a year are those of ISO 8601, weeks of a month begin on Monday.
"""

from calendar import isleap
from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any

from heliograph.flow.language.values.errors import BAD_ARGUMENT, ExpressionError
from heliograph.flow.language.values.intervals import MICROSECONDS, MONTHS, Interval, Qualifier
from heliograph.flow.language.values.patterns.calendar_fields import week_of_month
from heliograph.flow.language.values.types import type_of
from heliograph.flow.language.values.zone import GmtTime, GmtTimestamp, gmt_now, local_now, offset


def current_date(now: datetime) -> date:
    return local_now(now).date()


def current_time(now: datetime) -> time:
    return local_now(now).time()


def current_timestamp(now: datetime) -> datetime:
    return local_now(now)


def current_gmtdate(now: datetime) -> date:
    return gmt_now(now).date()


def current_gmttime(now: datetime) -> GmtTime:
    return GmtTime(gmt_now(now).time())


def current_gmttimestamp(now: datetime) -> GmtTimestamp:
    return GmtTimestamp(gmt_now(now))


def local_timezone(now: datetime) -> Interval:
    """How much local time is ahead of Greenwich."""
    return Interval(int(offset(now).total_seconds()) // 60 * MICROSECONDS["MINUTE"], Qualifier.HOUR_TO_MINUTE)


def extract(field: str, value: Any) -> int | float | bool | None:
    """EXTRACT(field FROM value): of a datetime or an interval."""
    if value is None:
        return None
    kind = type(value)
    if kind is Interval:
        if field in value.qualifier.fields:
            return _of_interval(field, value)
    else:
        if kind is GmtTimestamp:
            value = value.moment
        elif kind is GmtTime:
            value = value.time
        if field in _CLOCK_FIELDS and type(value) in (time, datetime):
            return _CLOCK_FIELDS[field](value)
        if field in _DAY_FIELDS and type(value) in (date, datetime):
            return _DAY_FIELDS[field](value)
    raise ExpressionError(BAD_ARGUMENT, f"{type_of(value)} has no {field}", ("EXTRACT", field, value))


def _of_interval(field: str, value: Interval) -> int | float:
    """What the field shows; each part of a negative interval is negative."""
    table = MONTHS if value.is_year_month else MICROSECONDS
    rest = abs(value.amount)
    for other in value.qualifier.fields:
        count, rest = divmod(rest, table[other])
        if other == field:
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
