"""Local and Greenwich time.

TIME and TIMESTAMP are local, GMTTIME and GMTTIMESTAMP are not. The zone is the process's own (`TZ`). Timestamps that do
not exist or exist twice, where clocks are changed, are taken as Python takes them: by the offset before the change.
Policy: a TIME has no date to find its offset by, so it goes with the offset of `now` where that is known (CAST), else
with the zone's standard offset (comparison).
"""

import re
import time as clock
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import NoReturn

from heliograph.flow.errors import CAST_FAILED, ConversionError

_DAY = date(2000, 1, 1)


@dataclass(frozen=True, slots=True, order=True)
class GmtTime:
    """A GMTTIME: `time` is without zone, and means Greenwich."""

    time: time


@dataclass(frozen=True, slots=True, order=True)
class GmtTimestamp:
    """A GMTTIMESTAMP: `moment` is without zone, and means Greenwich."""

    moment: datetime


def local_now(now: datetime) -> datetime:
    """`now` (with a zone, or local) as a TIMESTAMP."""
    return now if now.tzinfo is None else now.astimezone().replace(tzinfo=None)


def gmt_now(now: datetime) -> datetime:
    """`now` (with a zone, or local) as the moment of a GMTTIMESTAMP."""
    return now.astimezone(UTC).replace(tzinfo=None)


def to_gmt(moment: datetime) -> GmtTimestamp:
    """A TIMESTAMP as a GMTTIMESTAMP, by the offset at that moment."""
    try:
        return GmtTimestamp(moment.astimezone(UTC).replace(tzinfo=None))
    except (OverflowError, ValueError):
        _off_the_calendar(moment)


def to_local(value: GmtTimestamp) -> datetime:
    """A GMTTIMESTAMP as a TIMESTAMP, by the offset at that moment."""
    try:
        return value.moment.replace(tzinfo=UTC).astimezone().replace(tzinfo=None)
    except (OverflowError, ValueError):
        _off_the_calendar(value.moment)


def _off_the_calendar(moment: datetime) -> NoReturn:
    raise ConversionError(CAST_FAILED, f"{moment} is off the calendar in the other zone", (moment,)) from None


def offset(now: datetime | None) -> timedelta:
    """How much local time is ahead of Greenwich: at `now`, or by the zone's standard time."""
    if now is None:
        return timedelta(seconds=-clock.timezone)
    return now.astimezone().utcoffset() or timedelta(0)


def shift(value: time, by: timedelta) -> time:
    """`value` moved by `by`, around midnight if need be."""
    return (datetime.combine(_DAY, value) + by).time()


def time_to_gmt(value: time, now: datetime | None = None) -> GmtTime:
    """A TIME as a GMTTIME, by the offset at `now`, or else the standard offset."""
    return GmtTime(shift(value, -offset(now)))


def time_to_local(value: GmtTime, now: datetime | None = None) -> time:
    """A GMTTIME as a TIME, by the offset at `now`, or else the standard offset."""
    return shift(value.time, offset(now))


# INTERVAL values: a number of months, or of microseconds, and the fields they are shown in.
#
# The two families, year-month and day-second, never mix. An interval counts whole units of its last field (seconds:
# down to microseconds); what is finer is cut off, towards zero.

# Field -> how many months, or microseconds, one of it has; the first field is the coarsest.
MONTHS = {"YEAR": 12, "MONTH": 1}
MICROSECONDS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_ORDER = (*MONTHS, *MICROSECONDS)


class Qualifier(StrEnum):
    """Which fields an interval has; the value is how ESQL writes it."""

    YEAR = "YEAR"
    YEAR_TO_MONTH = "YEAR TO MONTH"
    MONTH = "MONTH"
    DAY = "DAY"
    DAY_TO_HOUR = "DAY TO HOUR"
    DAY_TO_MINUTE = "DAY TO MINUTE"
    DAY_TO_SECOND = "DAY TO SECOND"
    HOUR = "HOUR"
    HOUR_TO_MINUTE = "HOUR TO MINUTE"
    HOUR_TO_SECOND = "HOUR TO SECOND"
    MINUTE = "MINUTE"
    MINUTE_TO_SECOND = "MINUTE TO SECOND"
    SECOND = "SECOND"

    @property
    def first(self) -> str:
        """The coarsest field."""
        return self.value.partition(" TO ")[0]

    @property
    def last(self) -> str:
        """The finest field."""
        return self.value.rpartition(" TO ")[2]

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields from the first to the last, those between included."""
        return _ORDER[_ORDER.index(self.first) : _ORDER.index(self.last) + 1]

    @property
    def is_year_month(self) -> bool:
        """Whether its intervals count months; else they count microseconds."""
        return self.first in MONTHS

    @property
    def unit(self) -> int:
        """How many months or microseconds the last field counts by."""
        return 1 if self.last == "SECOND" else (MONTHS if self.is_year_month else MICROSECONDS)[self.last]

    def with_fields_of(self, other: "Qualifier") -> "Qualifier":
        """The least qualifier that has all fields of both. ValueError if they are not of one family."""
        if self.is_year_month is not other.is_year_month:
            raise ValueError("a year-month and a day-second interval do not go together")
        first = min(self.first, other.first, key=_ORDER.index)
        last = max(self.last, other.last, key=_ORDER.index)
        return Qualifier(first if first == last else f"{first} TO {last}")


@dataclass(frozen=True, slots=True)
class Interval:
    """`amount` months or microseconds, by the family of `qualifier`."""

    amount: int
    qualifier: Qualifier

    @property
    def is_year_month(self) -> bool:
        """Whether it counts months; else it counts microseconds."""
        return self.qualifier.is_year_month

    def text(self) -> str:
        """What stands between the quotes of a literal: `1-06`, `-2 01:30`, `1.5`."""
        table = MONTHS if self.is_year_month else MICROSECONDS
        rest = abs(self.amount)
        parts: list[str] = []
        for field in self.qualifier.fields:
            count, rest = divmod(rest, table[field])
            parts.append(f"{count:02d}" if parts else str(count))
        if self.qualifier.last == "SECOND" and rest:
            parts[-1] += f".{rest:06d}".rstrip("0")
        day = parts.pop(0) + " " if self.qualifier.first == "DAY" and len(parts) > 1 else ""
        return ("-" if self.amount < 0 else "") + day + ("-" if self.is_year_month else ":").join(parts)


def of_units(amount: int, qualifier: Qualifier) -> Interval:
    """`amount` months or microseconds, cut to whole units of the qualifier's last field."""
    unit = qualifier.unit
    return Interval(amount if unit == 1 else (abs(amount) // unit * unit) * (-1 if amount < 0 else 1), qualifier)


def parse(text: str, qualifier: Qualifier) -> Interval:
    """What stands between the quotes of a literal, for these fields. ValueError if it does not fit them.

    The first field may have any size; those after it only what a unit of the one before has place for.
    """
    found = _PATTERNS[qualifier].fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not an interval of {qualifier.value}")
    table = MONTHS if qualifier.is_year_month else MICROSECONDS
    amount = 0
    above: int | None = None
    for field, digits in zip(qualifier.fields, found.groups()[1:], strict=False):
        whole, _, fraction = digits.partition(".")
        part = int(whole) * table[field]
        if above is not None and part >= above:
            raise ValueError(f"{text!r} is not an interval of {qualifier.value}: {digits} is too large for {field}")
        amount += part + int(fraction.ljust(6, "0")[:6] or "0")
        above = table[field]
    return Interval(-amount if found[1] == "-" else amount, qualifier)


def _pattern(qualifier: Qualifier) -> re.Pattern[str]:
    fields = [r"([0-9]+(?:\.[0-9]*)?)" if field == "SECOND" else "([0-9]+)" for field in qualifier.fields]
    day = fields.pop(0) + r"\s+" if qualifier.first == "DAY" and len(fields) > 1 else ""
    return re.compile(r"([+-]?)\s*" + day + ("-" if qualifier.is_year_month else ":").join(fields))


_PATTERNS = {qualifier: _pattern(qualifier) for qualifier in Qualifier}
