"""What nodes need while a flow is compiled: its formats, its programs, and its labels."""

from collections.abc import Mapping
from typing import Any

from heliograph.flow.definition import Findings, FlowDefinition, NodeDefinition
from heliograph.flow.engine.esql_programs import Changes, changes_of, parse_others, select_module
from heliograph.flow.engine.mapping_rules import mapping_text
from heliograph.flow.engine.message import TreeReading
from heliograph.flow.engine.run import Target
from heliograph.flow.errors import InvalidFlow
from heliograph.flow.formats.catalogue import Catalogue
from heliograph.flow.formats.messages import MessageSettings
from heliograph.flow.formats.model.models import Models
from heliograph.flow.language.esql.compiling.program_compiling import compile_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_program
from heliograph.flow.language.esql.runtime.compiled_program import CompiledModule, CompiledProgram
from heliograph.flow.language.esql.syntax import Program


class Compilation:
    """The flow that is being compiled."""

    def __init__(self, definition: FlowDefinition, *, observed: bool = False) -> None:
        self.definition = definition
        self.observed = observed
        """Whether an observer sees the assemblies on connections, and may keep them."""
        self.flow = definition.name
        self.catalogue = Catalogue(Models(definition.models))
        self.labels: dict[str, Target] = {}
        """What is behind each label; filled in when nodes are linked, so look only when a message is there."""
        self.programs: dict[tuple[str, str], tuple[CompiledProgram, Changes]] = {}
        """What has been compiled for nodes, by file and kind of module."""

    def reading(self, definition: NodeDefinition, *, transactional: bool = False) -> TreeReading:
        """How the node's properties say that messages are read."""
        return TreeReading(self.catalogue, message_settings(definition.properties, transactional=transactional))

    def reading_before(self, definition: NodeDefinition) -> TreeReading:
        """How messages are read that reach the node: as the nearest node before it, or itself, says."""
        ahead, seen = [definition], {definition.name}
        while ahead:
            node = ahead.pop(0)
            if node.properties.get("domain"):
                return self.reading(node)
            for connection in self.definition.connections:
                if connection.target == node.name and connection.source not in seen:
                    seen.add(connection.source)
                    ahead.append(self.definition.nodes[connection.source])
        return TreeReading(self.catalogue, MessageSettings())

    def module(self, definition: NodeDefinition, kind: str) -> tuple[CompiledModule, Changes]:
        """The ESQL module that a node names, and which input trees it may change."""
        file, text = self.source(definition, "esql")
        program = parse_program(text, file, kind)
        name = select_module(program, definition.properties["module"], kind).name
        return self._compiled_with_changes(program, kind, name)

    def mapping(self, definition: NodeDefinition) -> tuple[CompiledModule, Changes]:
        """The module that a mapping file becomes."""
        file, text = self.source(definition, "map")
        findings = Findings()
        name, esql = mapping_text(text, file, findings)
        findings.raise_mistakes()
        return self._compiled_with_changes(parse_program(esql, file), "COMPUTE", name)

    def _compiled_with_changes(self, program: Program, kind: str, name: str) -> tuple[CompiledModule, Changes]:
        known = self.programs.get((program.file, kind))
        if known is None:
            others = parse_others(self.definition.sources, program.file)
            known = compile_program(program, others), changes_of([program, *others])
            self.programs[program.file, kind] = known
        compiled, changes = known
        return compiled.modules[name], changes

    def source(self, definition: NodeDefinition, name: str) -> tuple[str, str]:
        """The file that a property names, and its text."""
        path: str = definition.properties[name]
        text = self.definition.sources.get(path)
        if text is None:
            raise InvalidFlow(f"{definition.places.get(name, definition.place)}: there is no file {path}")
        return path, text


def message_settings(
    properties: Mapping[str, Any], *, domain: str = "", transactional: bool = False
) -> MessageSettings:
    """How messages are to be read, by a node's properties; `domain` is for those that name none."""
    return MessageSettings(
        properties.get("domain", "") or domain,
        properties.get("message_set", ""),
        properties.get("message_type", ""),
        properties.get("message_format", ""),
        transactional,
    )
