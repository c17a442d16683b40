"""Bounds of numbers, declared where a field is: `depth: Annotated[int, Range(1, 100)]`."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Annotated, get_args, get_origin, get_type_hints


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that something may be, both ends included; nothing here is negative."""

    low: float = 0
    high: float | None = None

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= (sys.float_info.max if self.high is None else self.high)  # so never inf or nan

    def __str__(self) -> str:
        return f"at least {self.low}" if self.high is None else f"from {self.low} to {self.high}"


@cache
def bounds_of(cls: type) -> Mapping[str, Range]:
    """The bounds that a class declares for its fields."""
    return MappingProxyType(
        {
            name: note
            for name, hint in get_type_hints(cls, include_extras=True).items()
            if get_origin(hint) is Annotated
            for note in get_args(hint)[1:]
            if isinstance(note, Range)
        }
    )
