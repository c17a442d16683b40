"""The letters I and T: whatever form of ISO 8601 a text has.

Read are dates (also by week or by day of the year), times, and both, with or without hyphens and colons, down to a
fraction and an offset; parts may be missing at the end. Written is the form with hyphens and colons, as much of it as
the type has: three digits of fraction, or six if these are needed.
"""

import re

from heliograph.flow.language.values.patterns.calendar_fields import Fields
from heliograph.flow.language.values.patterns.symbols import Item, Written
from heliograph.flow.language.values.patterns.zone_text import offset_minutes, offset_text

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
