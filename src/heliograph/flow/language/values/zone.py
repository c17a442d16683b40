"""Local and Greenwich time.

TIME and TIMESTAMP are local, GMTTIME and GMTTIMESTAMP are not. The zone is the process's own (`TZ`). Timestamps that do
not exist or exist twice, where clocks are changed, are taken as Python takes them: by the offset before the change.
Policy: a TIME has no date to find its offset by, so it goes with the offset of `now` where that is known (CAST), else
with the zone's standard offset (comparison).
"""

import time as clock
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
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
    try:
        return GmtTimestamp(moment.astimezone(UTC).replace(tzinfo=None))
    except (OverflowError, ValueError):
        _off_the_calendar(moment)


def to_local(value: GmtTimestamp) -> datetime:
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
    return GmtTime(shift(value, -offset(now)))


def time_to_local(value: GmtTime, now: datetime | None = None) -> time:
    return shift(value.time, offset(now))
