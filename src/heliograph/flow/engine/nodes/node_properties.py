"""Kinds of nodes: their properties and terminals, so that a flow file can be checked before anything is compiled."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from heliograph.flow.definition.flow import NodeDefinition
from heliograph.flow.engine.node import Node

if TYPE_CHECKING:
    from heliograph.flow.engine.building import Building

REQUIRED: Any = object()
"""The default of a property that has to be given."""

PropertyType = Literal["text", "integer", "number", "boolean", "choice", "texts", "mapping", "file"]


@dataclass(frozen=True, slots=True)
class Property:
    """One property: its type, its default, and what it is for."""

    help: str
    type: PropertyType = "text"
    default: Any = ""
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    suffix: str = ""
    """Of a file: how its name ends."""

    @property
    def required(self) -> bool:
        """Whether it has to be given."""
        return self.default is REQUIRED


@dataclass(frozen=True, slots=True)
class NodeKind:
    """One type of nodes."""

    name: str
    help: str
    build: "Callable[[NodeDefinition, Building], Node]"
    properties: Mapping[str, Property] = field(default_factory=dict)
    inputs: tuple[str, ...] = ("in",)
    outputs: tuple[str, ...] = ("out", "failure")
    optional_inputs: tuple[str, ...] = ()
    """Input terminals that need no connection."""
    check: "Callable[[Mapping[str, Any]], Iterator[tuple[str, str]]] | None" = None
    """What is wrong with properties that are right one by one: the property, and a text."""

    @property
    def is_entry(self) -> bool:
        """Whether messages come into the flow here."""
        return self.name.endswith("Input")


def choice(help: str, *choices: str, default: str | None = None) -> Property:  # noqa: A002
    """A property with a few values; the first is the default, unless another is named."""
    return Property(help, "choice", choices[0] if default is None else default, choices)


READING: Mapping[str, Property] = {
    "domain": Property("The format of bodies (XML, XMLNS, XMLNSC, JSON, BLOB, MRM); what headers say comes first."),
    "message_set": Property("The model, for domain MRM."),
    "message_type": Property("The message in the model."),
    "message_format": Property("The physical format in the model."),
}
"""How bodies are read."""

TRANSACTION = choice(
    "Whether puts belong to the unit of work: as the message that came in, always, or never.",
    "automatic",
    "yes",
    "no",
)
