"""A table of a report: what it is called, what its columns hold, and its rows with exact values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heliograph.lab.report.figures import KINDS

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """One column. `kind` is text, lines, or a kind of number; `detail` is a second key that is told below this one."""

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


@dataclass(frozen=True)
class Table:
    """Rows of exact values. `group` is the key that parts the rows; `otherwise` says why there are no rows.

    `most` rows are shown to people; programs get all of them.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
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
    def shown(self) -> tuple[Row, ...]:
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
