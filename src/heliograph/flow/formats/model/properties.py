"""Physical properties: which names a kind of format knows, and what values they take.

Names are those of DFDL wherever DFDL has one.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heliograph.common.documents import Place
from heliograph.flow.formats.model.logical import Properties
from heliograph.flow.formats.model.problem import ModelProblem


@dataclass(frozen=True, slots=True)
class Property:
    """What values a property takes."""

    type: type = str
    """str, int or bool."""
    choices: tuple[Any, ...] = ()
    """The only values, if there are any."""
    reference: bool = False
    """Whether `{../NAME}`, the value of an earlier field, may stand instead."""
    implicit: bool = False
    """Whether the word `implicit` may stand instead."""
    limits: tuple[int, int] | None = None
    """The smallest and the largest number."""

    def check(self, name: str, value: Any, place: Place) -> Any:
        """The value as the format uses it."""
        if self.reference and isinstance(value, str) and reference(value) is not None:
            return value
        if self.implicit and value == "implicit":
            return value
        if self.type is str and type(value) in (int, float):
            value = str(value)  # YAML reads digits as a number
        if type(value) is not self.type:
            raise ModelProblem(place, f"{name}: expected {self._expected()}, found {value!r}")
        outside = isinstance(value, int) and self.limits is not None and not self.limits[0] <= value <= self.limits[1]
        if outside:
            raise ModelProblem(place, f"{name}: expected {self._expected()}, found {value!r}")
        if self.choices and value not in self.choices:
            raise ModelProblem(place, f"{name}: expected {self._expected()}, found {value!r}")
        return value

    def _expected(self) -> str:
        if self.choices:
            return "one of " + ", ".join(str(choice) for choice in self.choices)
        if self.limits is not None:
            return f"{self.limits[0]} to {self.limits[1]}"
        words = {str: "text", int: "an integer", bool: "true or false"}
        return words[self.type] + (" or {../NAME}" if self.reference else "")


REFERENCE = re.compile(r"\{\s*(/|(?:\.\./)+)([^/{}\s]+(?:/[^/{}\s]+)*)\s*\}")


@dataclass(frozen=True, slots=True)
class Reference:
    """An earlier field: `{../n}` is a sibling, `{../../n}` a sibling of the group around, `{../g/n}` is inside `g`,
    and `{/g/n}` begins at the message."""

    up: int | None
    """Groups to leave; None for all."""
    path: tuple[str, ...]


def reference(text: object) -> Reference | None:
    """The reference in `{../n}`; None if it is none."""
    found = REFERENCE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    return Reference(None if found[1] == "/" else found[1].count("..") - 1, tuple(found[2].split("/")))


def checked(given: Mapping[str, Any], known: Mapping[str, Property], place: Place) -> Properties:
    """The properties, each with a name and value that the kind knows."""
    result = {}
    for name, value in given.items():
        if name not in known:
            raise ModelProblem(place, f"unknown property {name}; known are {', '.join(sorted(known))}")
        result[name] = known[name].check(name, value, place)
    return result
