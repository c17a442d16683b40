"""INTERVAL values: so many months, or so many microseconds, and the fields they are shown in.

The two families, year-month and day-second, never mix. An interval counts whole units of its last field: what is finer
is cut off (towards zero).
"""

from dataclasses import dataclass
from enum import Enum


class Family(Enum):
    YEAR_MONTH = "year-month"
    DAY_SECOND = "day-second"


# Field -> how many units (months, or microseconds) one of it has.
_MONTHS = {"YEAR": 12, "MONTH": 1}
_MICROSECONDS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}


class Qualifier(Enum):
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
    def family(self) -> Family:
        return Family.YEAR_MONTH if self.fields[0] in _MONTHS else Family.DAY_SECOND

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields from the first to the last, those between included."""
        first, _, last = self.value.partition(" TO ")
        order = tuple(_MONTHS) if first in _MONTHS else tuple(_MICROSECONDS)
        return order[order.index(first) : order.index(last or first) + 1]


@dataclass(frozen=True, slots=True)
class Interval:
    """`amount` months or microseconds, by the family of `qualifier`."""

    amount: int
    qualifier: Qualifier
