"""Mapping: builds a message by rules in YAML."""

from typing import TYPE_CHECKING

from heliograph.flow.definition.flow import NodeDefinition
from heliograph.flow.engine.nodes.esql_nodes import COMPUTE, COMPUTE_OUTPUTS, Compute
from heliograph.flow.engine.nodes.node_properties import REQUIRED, NodeKind, Property

if TYPE_CHECKING:
    from heliograph.flow.engine.building import Building
    from heliograph.flow.engine.nodes.node_programs import Changes
    from heliograph.flow.language.esql.runtime.compiled_program import CompiledModule


class MappingNode(Compute):
    """A Compute whose module is made from a .map.yaml file."""

    def compiled(self, definition: NodeDefinition, building: "Building") -> "tuple[CompiledModule, Changes]":
        """The module of the mapping."""
        return building.mapping(definition)


_INHERITED = {name: rule for name, rule in COMPUTE.properties.items() if name not in ("esql", "module")}

KIND = NodeKind(
    "Mapping",
    "Builds a new message by rules: from a source path to a target path.",
    MappingNode,
    properties={"map": Property("The .map.yaml file.", "file", REQUIRED, suffix=".map.yaml"), **_INHERITED},
    outputs=(*COMPUTE_OUTPUTS, "failure"),
)
