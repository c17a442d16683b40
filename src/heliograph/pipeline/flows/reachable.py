"""Inputs that can get messages of a stream, and the nodes that these can come to."""

from collections.abc import Mapping

from heliograph.flow.definition import FlowDefinition, NodeDefinition

INPUTS = ("QueueInput", "TopicInput")
"""Types of inputs that can get messages of a stream."""


def reachable(definition: FlowDefinition, entry: str) -> Mapping[str, NodeDefinition]:
    """The nodes that a message can come to from an input. Labels count always: their names may be computed."""
    ahead = [entry, *(name for name, node in definition.nodes.items() if node.type == "Label")]
    found: dict[str, NodeDefinition] = {}
    while ahead:
        name = ahead.pop()
        if name not in found:
            found[name] = definition.nodes[name]
            ahead += [connection.target for connection in definition.connections if connection.source == name]
    return found
