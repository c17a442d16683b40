"""Offsets from Greenwich as text."""

import re
import time as clock
from datetime import timedelta

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
