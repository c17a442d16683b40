"""Kinds of physical formats, and kinds of files that messages are imported from, by name.

The table names modules, which are loaded when a model needs them: each has a `KIND`, or a function `import_messages`.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from heliograph.common.documents import Place
from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.model.logical import Message, PhysicalFormat, Properties
from heliograph.flow.formats.model.source import Source
from heliograph.flow.tree import Text

# What is wrong with a model.

MOST_MEMBERS = 100_000


@contextmanager
def not_too_deep(place: Place) -> Iterator[None]:
    """What is deeper than Python can follow is a problem of the model."""
    try:
        yield
    except RecursionError:
        raise ModelProblem(place, "groups or files are inside each other too deeply") from None


class Members:
    """Counts the members of a model: types that are used inside each other multiply."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, place: Place, name: str, count: int = 1) -> None:
        """Count more members; a ModelProblem if that is too many."""
        self.count += count
        if self.count > MOST_MEMBERS:
            raise ModelProblem(place, f"{name}: the model has more than {MOST_MEMBERS} fields and groups")


# Physical properties: which names a kind of format knows, and what values they take.
#
# Names are those of DFDL wherever DFDL has one.


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
            value = str(value)  # YAML parses a text of digits as a number
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


KINDS = {
    "CWF": "heliograph.flow.formats.cwf",
    "TDS": "heliograph.flow.formats.tds",
    "CSV": "heliograph.flow.formats.csv",
    "SWIFT": "heliograph.flow.formats.swift",
    "XML": "heliograph.flow.formats.mrm_xml",
}
IMPORTS = {
    ".cpy": "heliograph.flow.formats.copybook",
    ".mt": "heliograph.flow.formats.swift",
    ".xsd": "heliograph.flow.formats.xsd",
}


class ModelKind(Protocol):
    """A kind of physical format."""

    @property
    def properties(self) -> Mapping[str, Property]:
        """The properties that formats of this kind, and fields and groups in them, may have."""

    def generate(self, message: Message, form: PhysicalFormat, text: Text) -> Source:
        """Source of two functions: `read(part, data)`, a generator as in `Format.read`, and `write(part)`.

        Whatever cannot be done with this model is a ModelProblem here, not when a message comes.
        """


class Imported(NamedTuple):
    """What a file brought."""

    messages: Mapping[str, Message]
    formats: Mapping[str, PhysicalFormat]
    files: frozenset[str] = frozenset()
    """Further files that it has taken in: they are no models of their own."""
    refused: Mapping[str, ModelProblem] = {}
    """What could be messages by their names, and why they are none."""


class Import(Protocol):
    """Reads messages from a file that is not a model file."""

    def __call__(
        self, text: str, file: str, options: Mapping[str, Any], place: Place, others: Mapping[str, str]
    ) -> Imported:
        """The messages; options are those beside `file:` in the model file, at this place.

        `others` has the texts of all files in the folder, by name.
        """


def kind_named(name: str, place: Place) -> ModelKind:
    """The kind of format with this name."""
    if name not in KINDS:
        raise ModelProblem(place, f"unknown kind of format {name}; known are {', '.join(KINDS)}")
    kind: ModelKind = import_module(KINDS[name]).KIND
    return kind


def import_for(suffix: str, place: Place) -> Import:
    """What reads files of this suffix."""
    if suffix not in IMPORTS:
        raise ModelProblem(place, f"cannot import from {suffix} files; known are {', '.join(IMPORTS)}")
    found: Import = import_module(IMPORTS[suffix]).import_messages
    return found


def files_taken_in(file: str, text: str) -> frozenset[str]:
    """Other files that this one says it takes in: they are no models of their own. Only schemas have such pieces."""
    if not file.endswith(".xsd"):
        return frozenset()
    found: frozenset[str] = import_module(IMPORTS[".xsd"]).files_taken_in(text) - {file}
    return found
