"""What nodes need while a flow is compiled: its formats, its programs, and its labels."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from heliograph.errors import Problem
from heliograph.flow.definition.flow import FlowDefinition, NodeDefinition
from heliograph.flow.engine.reading import TreeReading
from heliograph.flow.formats.catalogue import Catalogue
from heliograph.flow.tree import Text

if TYPE_CHECKING:
    from heliograph.flow.engine.node import Target


class Building:
    """The flow that is being compiled."""

    def __init__(self, definition: FlowDefinition) -> None:
        self.definition = definition
        self.flow = definition.name
        self.catalogue = Catalogue()
        self.labels: dict[str, Target] = {}
        """What is behind each label; filled in when nodes are linked, so look only when a message is there."""

    def reading(self, definition: NodeDefinition) -> TreeReading:
        """How the node's properties say that messages are read."""
        return TreeReading(self.catalogue, definition.properties.get("domain", ""), text_of(definition.properties))

    def source(self, definition: NodeDefinition, name: str) -> tuple[str, str]:
        """The file that a property names, and its text."""
        path: str = definition.properties[name]
        text = self.definition.sources.get(path)
        if text is None:
            raise Problem(f"{definition.places.get(name, definition.place)}: there is no file {path}")
        return path, text


def text_of(properties: Mapping[str, Any]) -> Text:
    """How bytes are to be understood, by a node's properties."""
    return Text(
        message_set=properties.get("message_set", ""),
        message_type=properties.get("message_type", ""),
        message_format=properties.get("message_format", ""),
    )
