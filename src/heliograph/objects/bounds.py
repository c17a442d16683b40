"""Bounds of numbers."""

import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that something may be, both ends included; nothing here is negative."""

    low: float = 0
    high: float | None = None

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= (sys.float_info.max if self.high is None else self.high)  # so never inf or nan

    def __str__(self) -> str:
        return f"at least {self.low}" if self.high is None else f"from {self.low} to {self.high}"
