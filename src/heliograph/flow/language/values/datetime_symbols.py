"""What each letter of a datetime pattern writes, reads, and makes of what it reads."""

import re
import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

# From the fields that a pattern read to a moment, and what a pattern asks of a moment besides its plain fields.

CENTURY_WINDOW = 53
DEFAULT_YEAR = 1970

Fields = dict[str, int]


def year_of_two_digits(number: int) -> int:
    """Policy: 53 to 99 are of the twentieth century, 00 to 52 of the next."""
    return number + (1900 if number >= CENTURY_WINDOW else 2000)


def week_of_month(day: date) -> int:
    """Weeks begin on Monday; the first is the one that the month begins in."""
    return (day.day + day.replace(day=1).weekday() - 1) // 7 + 1


def moment_of(fields: Fields) -> datetime:
    """What the fields say, without regard to `offset`. ValueError if they contradict the calendar or one another."""
    hour = _hour(fields)
    end_of_day = hour == 24
    clock = time(0 if end_of_day else hour, fields.get("minute", 0), fields.get("second", 0), fields.get("micro", 0))
    if end_of_day and clock != time():
        raise ValueError("hour 24 goes with no minutes and seconds")
    return datetime.combine(_day(fields), clock) + timedelta(days=end_of_day)


def _hour(fields: Fields) -> int:
    if "hour" in fields:
        return fields["hour"]
    hour = fields.get("hour12", 0)
    return hour % 12 + 12 * fields.get("pm", 0)


def _day(fields: Fields) -> date:
    year = fields.get("year", fields.get("week_year", DEFAULT_YEAR))
    weekday = fields.get("weekday")
    if "yearday" in fields:
        day = date(year, 1, 1) + timedelta(days=fields["yearday"] - 1)
        if day.year != year:
            raise ValueError(f"{year} has no day {fields['yearday']}")
    elif "week" in fields:
        return date.fromisocalendar(fields.get("week_year", year), fields["week"], weekday or 1)
    elif weekday and "day" not in fields and ("nth" in fields or "month_week" in fields):
        return _day_by_week(date(year, fields.get("month", 1), 1), fields, weekday)
    else:
        day = date(year, fields.get("month", 1), fields.get("day", 1))
    if weekday and "day" in fields and day.isoweekday() != weekday:
        raise ValueError(f"{day.isoformat()} is not such a day of the week")
    return day


def _day_by_week(first: date, fields: Fields, weekday: int) -> date:
    if "nth" in fields:
        day = first + timedelta(days=(weekday - first.isoweekday()) % 7 + 7 * (fields["nth"] - 1))
    else:
        day = first + timedelta(days=weekday - first.isoweekday() + 7 * (fields["month_week"] - 1))
    if day.month != first.month:
        raise ValueError("the month has no such day of the week")
    return day


# Offsets from Greenwich as text.

_NAMED = re.compile(r"(?:GMT|UTC)?(?:([+-])([0-9]{1,2})(?::?([0-9]{2}))?)?", re.IGNORECASE)


def offset_text(offset: timedelta, count: int, zulu: bool) -> str:
    """As `count` letters Z have it: +1, +01, +01:00, GMT+01:00, +0100. With `zulu`, Z for Greenwich."""
    if zulu and not offset:
        return "Z"
    minutes = offset // timedelta(minutes=1)
    sign = "-" if minutes < 0 else "+"
    hours, minutes = divmod(abs(minutes), 60)
    return {
        1: f"{sign}{hours}",
        2: f"{sign}{hours:02d}",
        3: f"{sign}{hours:02d}:{minutes:02d}",
        4: f"GMT{sign}{hours:02d}:{minutes:02d}",
    }.get(count, f"{sign}{hours:02d}{minutes:02d}")


def offset_pattern(count: int) -> str:
    """A regular expression for what `offset_text` writes; Z is always read."""
    return {
        1: r"Z|[+-][0-9]{1,2}",
        2: r"Z|[+-][0-9]{2}",
        3: r"Z|[+-][0-9]{2}:[0-9]{2}",
        4: r"GMT(?:[+-][0-9]{2}:[0-9]{2})?",
    }.get(count, r"Z|[+-][0-9]{4}")


def offset_minutes(text: str) -> int:
    """The minutes that an offset, or the name of a zone, is ahead of Greenwich. ValueError for a name not known."""
    if text.upper() == "Z":
        return 0
    found = _NAMED.fullmatch(text)
    if found is None:
        for name, seconds in zip(clock.tzname, (clock.timezone, clock.altzone), strict=True):
            if text.upper() == name.upper():
                return -seconds // 60
        raise ValueError(f"zone {text} is not known")
    if found[1] is None:
        return 0
    minutes = int(found[2]) * 60 + int(found[3] or "0")
    if minutes >= 1440:
        raise ValueError(f"{text} is not an offset")
    return -minutes if found[1] == "-" else minutes


MONTHS = (
    "January", "February", "March", "April", "May", "June", "July",
    "August", "September", "October", "November", "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Written:
    """A datetime on its way to text."""

    moment: datetime
    offset: Callable[[], timedelta]
    zone_name: Callable[[], str]
    has_date: bool
    has_time: bool


@dataclass(frozen=True, slots=True)
class Item:
    """One piece of a pattern. `expression` has one group; `store` gets what that matched."""

    write: Callable[[Written], str]
    expression: str
    store: Callable[[Fields, str], None]


def literal(text: str, expression: str) -> Item:
    """Text that stands in the pattern itself."""
    return Item(lambda written: text, f"({expression})", lambda fields, found: None)


def number(letter: str, count: int, packed: bool) -> Item:
    """A field of digits; `packed` if digits of another field touch it, so that only its width tells where it ends."""
    name, width, get = _NUMBERS[letter]
    exact = packed and count > 1
    digits = str(count) if exact else f"1,{max(count, width)}"
    return Item(
        lambda written: f"{get(written.moment):0{count}d}",
        f"([0-9]{{{digits}}})",
        lambda fields, found: _store_number(fields, letter, name, int(found)),
    )


def _store_number(fields: Fields, letter: str, name: str, value: int) -> None:
    least, most = _RANGES[letter]
    if not least <= value <= most:
        raise ValueError(f"{value} is not within {least} to {most} of {letter}")
    fields[name] = 0 if letter == "k" and value == 24 else value


# Letter -> its field, the most digits it has, and how to get it.
_NUMBERS: dict[str, tuple[str, int, Callable[[datetime], int]]] = {
    "d": ("day", 2, lambda moment: moment.day),
    "D": ("yearday", 3, lambda moment: moment.timetuple().tm_yday),
    "e": ("weekday", 1, lambda moment: moment.isoweekday()),
    "F": ("nth", 1, lambda moment: (moment.day - 1) // 7 + 1),
    "h": ("hour12", 2, lambda moment: moment.hour % 12 or 12),
    "H": ("hour", 2, lambda moment: moment.hour),
    "k": ("hour", 2, lambda moment: moment.hour or 24),
    "K": ("hour12", 2, lambda moment: moment.hour % 12),
    "m": ("minute", 2, lambda moment: moment.minute),
    "M": ("month", 2, lambda moment: moment.month),
    "s": ("second", 2, lambda moment: moment.second),
    "w": ("week", 2, lambda moment: moment.isocalendar().week),
    "W": ("month_week", 1, week_of_month),
}
_RANGES = {
    "d": (1, 31), "D": (1, 366), "e": (1, 7), "F": (1, 5), "h": (1, 12), "H": (0, 24), "k": (1, 24), "K": (0, 11),
    "m": (0, 59), "M": (1, 12), "s": (0, 59), "w": (1, 53), "W": (1, 6),
}  # fmt: skip


def year(letter: str, count: int, packed: bool) -> Item:
    """`yy` is the year of its century, more letters the whole year; `Y` is the year that the week belongs to."""
    name = "year" if letter == "y" else "week_year"

    def get(written: Written) -> int:
        return written.moment.year if letter == "y" else written.moment.isocalendar().year

    def store(fields: Fields, found: str) -> None:
        fields[name] = year_of_two_digits(int(found)) if count == 2 else int(found)

    if count == 2:
        return Item(lambda written: f"{get(written) % 100:02d}", "([0-9]{2})", store)
    width = "4" if count >= 4 else "1,4"
    return Item(lambda written: f"{get(written):0{count}d}", f"([0-9]{{{width}}})", store)


def name(letter: str, count: int) -> Item:
    """The name of a month or of a day of the week: whole with four letters, else three characters of it."""
    names: tuple[str, ...] = MONTHS if letter == "M" else DAYS
    if count < 4:
        names = tuple(word[:3] for word in names)
    places = {word.upper(): place for place, word in enumerate(names, 1)}

    def write(written: Written) -> str:
        return names[(written.moment.month if letter == "M" else written.moment.isoweekday()) - 1]

    def store(fields: Fields, found: str) -> None:
        fields["month" if letter == "M" else "weekday"] = places[found.upper()]

    return Item(write, f"({'|'.join(names)})", store)


def fraction(count: int, packed: bool) -> Item:
    """A fraction of a second, in as many digits as letters. Beyond microseconds it is zeros."""

    def store(fields: Fields, found: str) -> None:
        fields["micro"] = int(found.ljust(6, "0")[:6])

    return Item(
        lambda written: f"{written.moment.microsecond:06d}".ljust(count, "0")[:count],
        f"([0-9]{{{count}}})" if packed else "([0-9]{1,9})",
        store,
    )


def half_of_day() -> Item:
    """AM or PM."""

    def store(fields: Fields, found: str) -> None:
        fields["pm"] = int(found.upper() == "PM")

    return Item(lambda written: "PM" if written.moment.hour >= 12 else "AM", "(AM|PM)", store)


def era() -> Item:
    """AD or BC."""

    def store(fields: Fields, found: str) -> None:
        if found.upper() == "BC":
            raise ValueError("years before the common era are not supported")

    return Item(lambda written: "AD", "(AD|BC)", store)


def _store_offset(fields: Fields, found: str) -> None:
    fields["offset"] = offset_minutes(found)


def zone_offset(count: int, zulu: bool) -> Item:
    """The offset from Greenwich, in one of the forms of `offset_text`."""
    return Item(lambda written: offset_text(written.offset(), count, zulu), f"({offset_pattern(count)})", _store_offset)


def zone_name() -> Item:
    """Policy: the abbreviation that the system has for the zone, however many letters."""
    expression = r"((?:GMT|UTC)?[+-][0-9]{1,2}(?::?[0-9]{2})?|[A-Z]+)"
    return Item(lambda written: written.zone_name(), expression, _store_offset)
