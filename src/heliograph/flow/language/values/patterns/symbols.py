"""What each letter of a datetime pattern writes, reads, and makes of what it reads."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from heliograph.flow.language.values.patterns.calendar_fields import Fields, week_of_month, year_of_two_digits
from heliograph.flow.language.values.patterns.zone_text import offset_minutes, offset_pattern, offset_text

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
    def store(fields: Fields, found: str) -> None:
        fields["pm"] = int(found.upper() == "PM")

    return Item(lambda written: "PM" if written.moment.hour >= 12 else "AM", "(AM|PM)", store)


def era() -> Item:
    def store(fields: Fields, found: str) -> None:
        if found.upper() == "BC":
            raise ValueError("years before the common era are not supported")

    return Item(lambda written: "AD", "(AD|BC)", store)


def _store_offset(fields: Fields, found: str) -> None:
    fields["offset"] = offset_minutes(found)


def zone_offset(count: int, zulu: bool) -> Item:
    return Item(lambda written: offset_text(written.offset(), count, zulu), f"({offset_pattern(count)})", _store_offset)


def zone_name() -> Item:
    """Policy: the abbreviation that the system has for the zone, however many letters."""
    expression = r"((?:GMT|UTC)?[+-][0-9]{1,2}(?::?[0-9]{2})?|[A-Z]+)"
    return Item(lambda written: written.zone_name(), expression, _store_offset)
