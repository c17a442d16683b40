"""Tables of a report, and how the numbers in them are written.

Numbers are short where people read them (162 K, 16.2 M, 84 µs), exact wherever a program reads them.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

NOTHING = "\N{EN DASH}"  # what stands where nothing was measured

TableRow = Mapping[str, Any]


def short(value: float) -> str:
    """Three digits and the thousands they count: `999`, `162 K`, `16.2 M`."""
    size = abs(value)
    for unit, one in (("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if size >= one * 0.9995:  # 999.6 K would round to 1000 K
            return f"{plain(value / one)} {unit}"
    return plain(value)


def plain(value: float) -> str:
    """Three digits, without an exponent and without zeros at the end."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 99.95:
        return f"{value:.0f}"
    decimals = max(0, 2 - math.floor(math.log10(size)))
    text = f"{value:.{min(decimals, 6)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def whole(value: float) -> str:
    """A count, with its thousands apart."""
    return f"{value:,.0f}"


def duration(milliseconds: float) -> str:
    """A time in the unit that suits it: `84 µs`, `1.2 ms`, `3.4 s`."""
    size = abs(milliseconds)
    if size == 0:
        return "0"
    if size < 0.0009995:
        return f"{plain(milliseconds * 1e6)} ns"
    if size < 0.9995:
        return f"{plain(milliseconds * 1e3)} µs"
    return f"{plain(milliseconds)} ms" if size < 999.5 else f"{plain(milliseconds / 1e3)} s"


def octets(value: float) -> str:
    """An amount of memory or data: `32 B`, `2 KB`, `1.5 GB` (of 1024)."""
    size = abs(value)
    for unit, one in (("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if size >= one:
            return f"{plain(value / one)} {unit}"
    return f"{plain(value)} B"


def percent(value: float) -> str:
    """A share that is counted in hundredths already."""
    return f"{plain(value)} %"


def ratio(value: float) -> str:
    """How many times as much."""
    return f"{plain(value)} \N{MULTIPLICATION SIGN}"


KINDS: dict[str, Callable[[float], str]] = {
    "rate": short,
    "number": plain,
    "count": whole,
    "ms": duration,
    "bytes": octets,
    "percent": percent,
    "ratio": ratio,
}
"""Kinds of columns and axes that hold numbers, and how each is written."""


def text(value: Any, kind: str) -> str:
    """A value of a column, as people read it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if kind in KINDS and isinstance(value, int | float):
        return KINDS[kind](value)
    return str(value) if value != "" else NOTHING


@dataclass(frozen=True)
class Column:
    """One column. `kind` is text, lines, or a kind of number; `detail` is a second key, shown below this one."""

    key: str
    title: str
    kind: str = "text"
    unit: str = ""
    detail: str = ""

    @property
    def is_number(self) -> bool:
        """Whether it stands to the right."""
        return self.kind in KINDS

    @property
    def heading(self) -> str:
        """The title with the unit, where there is one."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


def columns(kind: str, **titles: str) -> tuple[Column, ...]:
    """Columns of one kind: titles by key."""
    return tuple(Column(key, title, kind) for key, title in titles.items())


NAMED = (Column("name", "Name"), Column("target", "Target"))
"""The first columns of most tables: a scenario with its variant, and a target."""


@dataclass(frozen=True)
class Table:
    """Rows of exact values. `group` is the key that parts the rows; `otherwise` says why there are no rows.

    `most` rows are shown to people; programs get all of them.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    otherwise: str
    group: str = ""
    note: str = ""
    most: int = 1000

    @property
    def keys(self) -> tuple[str, ...]:
        """Everything that a row holds, in the order of the columns: what CSV and JSON have."""
        found = [self.group] if self.group else []
        for column in self.columns:
            found += [key for key in (column.key, column.detail) if key and key not in found]
        return tuple(found)

    @property
    def shown(self) -> tuple[TableRow, ...]:
        """The rows that people see."""
        return self.rows[: self.most]

    @property
    def filled(self) -> tuple[Column, ...]:
        """Columns that have a value in any row; an empty one tells a reader nothing."""
        return tuple(
            column
            for column in self.columns
            if any(row.get(key) not in {None, ""} for row in self.rows for key in (column.key, column.detail) if key)
        )

    @property
    def omitted(self) -> str:
        """A sentence when people see a part only."""
        if len(self.rows) <= self.most:
            return ""
        return f"{self.most} of {len(self.rows):,} rows are shown; the CSV and JSON files have all of them."
