"""Kinds of physical formats, and kinds of files that messages are imported from, by name.

The table names modules, which are loaded when a model needs them: each has a `KIND`, or a function `import_messages`.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from heliograph.common.documents import Place
from heliograph.flow.formats.model.logical import Message, PhysicalFormat
from heliograph.flow.formats.model.problem import ModelProblem
from heliograph.flow.formats.model.properties import Property
from heliograph.flow.formats.model.source import Source
from heliograph.flow.tree import Text

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


class Kind(Protocol):
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


def kind_named(name: str, place: Place) -> Kind:
    """The kind of format with this name."""
    if name not in KINDS:
        raise ModelProblem(place, f"unknown kind of format {name}; known are {', '.join(KINDS)}")
    kind: Kind = import_module(KINDS[name]).KIND
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
