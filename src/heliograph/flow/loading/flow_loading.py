"""Loads a flow's folder:

flow.yaml (or NAME.flow.yaml)   nodes and connections
*.esql, *.map.yaml, *.py        what nodes name
models/                         message models
subflows/NAME.yaml              flows to be used as nodes
parameters/ENVIRONMENT.yaml     values of parameters in an environment
tests/                          test cases
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heliograph.common.documents import Place, read_document
from heliograph.errors import StorageError
from heliograph.flow.definition import (
    Connection,
    Findings,
    FlowDefinition,
    NodeDefinition,
    check_spark,
    known,
    suggestion,
)
from heliograph.flow.engine.nodes.node_kinds import KINDS
from heliograph.flow.errors import InvalidFlow
from heliograph.flow.loading.file_checking import check_domains, check_files, why_unreadable
from heliograph.flow.loading.flow_document import Written, WrittenNode, read_flow, read_subflow
from heliograph.flow.loading.node_checking import check_connections, check_inputs, check_loops, check_node
from heliograph.flow.loading.subflows import expanded, overlaid, replaced


def load_flow(
    folder: str | Path, environment: str | None = None, parameters: Mapping[str, Any] | None = None
) -> FlowDefinition:
    """Read and check the flow in a folder, or the flow of this file.

    `environment` names a file in parameters/; `parameters` come before what that file says. A `DefinitionProblem` has
    all mistakes.
    """
    file = flow_file(Path(folder))
    return _Loading(file.parent).load(file, environment, parameters or {})


def flow_file(path: Path) -> Path:
    """The file of a flow, by its folder or by itself."""
    if path.is_file():
        return path
    if not path.is_dir():
        raise InvalidFlow(f"{path}: expected the folder of a flow; there is none")
    if (path / "flow.yaml").is_file():
        return path / "flow.yaml"
    found = sorted(path.glob("*.flow.yaml"))
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} of the second: {', '.join(file.name for file in found)}" if found else "neither"
    raise InvalidFlow(f"{path}: expected flow.yaml or one NAME.flow.yaml; there is {what}")


class _Loading:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._findings = Findings()

    def load(self, file: Path, environment: str | None, given: Mapping[str, Any]) -> FlowDefinition:
        findings = self._findings
        written = read_flow(read_document(self._text(file), file.name, findings.mistake), findings)
        parameters = self._parameters(written, environment, given)
        raw_nodes, raw_connections = expanded(written, self._subflows(), findings)
        types = {name: node.type for name, node in raw_nodes.items()}
        connections = check_connections(types, raw_connections, KINDS, findings)
        nodes = self._nodes(raw_nodes, parameters)
        settings = {
            name: replaced(value, parameters, written.settings_places[name], findings)
            for name, value in written.settings.items()
        }
        self._check_graph(nodes, connections, file.name)
        self._check_data_sources(nodes, settings)
        check_domains(nodes, findings)
        check_spark(settings, written.settings_places, findings)
        sources, models = check_files(self._folder, nodes, findings)
        findings.raise_mistakes()
        return FlowDefinition(
            written.name,
            str(self._folder),
            nodes,
            connections,
            parameters,
            settings,
            sources,
            models,
            findings.warnings(),
        )

    def _text(self, file: Path) -> str:
        try:
            return file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise StorageError(f"{file}: cannot be read: {why_unreadable(error)}") from error

    def _parameters(self, written: Written, environment: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
        parameters = dict(written.parameters)
        if environment is not None:
            file = self._folder / "parameters" / f"{environment}.yaml"
            if not file.is_file():
                there = known(found.stem for found in (self._folder / "parameters").glob("*.yaml"))
                raise InvalidFlow(f"{file}: there is no environment {environment}; there are: {there}")
            document = read_document(self._text(file), f"parameters/{file.name}", self._findings.mistake)
            values = document.value if isinstance(document.value, dict) else {}
            places = {name: document.place(name) for name in values}
            parameters = overlaid(parameters, values, places, self._findings)
        return overlaid(parameters, given, {}, self._findings)

    def _subflows(self) -> dict[str, Written]:
        subflows = {}
        for file in sorted((self._folder / "subflows").glob("*.yaml")):
            document = read_document(self._text(file), f"subflows/{file.name}", self._findings.mistake)
            subflows[file.stem] = read_subflow(document, self._findings)
        return subflows

    def _nodes(self, raw: Mapping[str, WrittenNode], parameters: Mapping[str, Any]) -> dict[str, NodeDefinition]:
        nodes = {}
        for name, node in raw.items():
            kind = KINDS.get(node.type)
            if kind is None:
                names = [*KINDS, "Subflow"]
                place = node.places.get("type", node.place)
                text = f"there is no node type {node.type}{suggestion(node.type, names)}; there are: {known(names)}"
                self._findings.mistake(place, text)
                continue
            given = {
                key: replaced(value, parameters, node.places.get(key, node.place), self._findings)
                for key, value in node.properties.items()
            }
            nodes[name] = check_node(name, kind, given, node.place, node.places, self._findings)
        return nodes

    def _check_graph(self, nodes: Mapping[str, NodeDefinition], connections: list[Connection], file: str) -> None:
        known_ends = [
            connection for connection in connections if connection.source in nodes and connection.target in nodes
        ]
        if nodes or not self._findings.count():  # a file that could not be read has no inputs to speak of
            check_inputs(nodes, known_ends, KINDS, file, self._findings)
        check_loops(nodes, known_ends, self._findings)
        self._check_labels(nodes)

    def _check_labels(self, nodes: Mapping[str, NodeDefinition]) -> None:
        labels: dict[str, Place] = {}
        for node in nodes.values():
            if node.type == "Label":
                label = node.properties["label"] or node.name.rpartition(".")[2]
                if label in labels:
                    self._findings.mistake(node.place, f"label {label} is there twice: first at {labels[label]}")
                labels[label] = node.place
        if not labels:
            for node in nodes.values():
                if node.type == "RouteToLabel":
                    text = f"RouteToLabel {node.name} leads nowhere: the flow has no Label"
                    self._findings.mistake(node.place, text)

    def _check_data_sources(self, nodes: Mapping[str, NodeDefinition], settings: Mapping[str, Any]) -> None:
        declared = settings.get("data_sources")
        names = declared if isinstance(declared, dict) else {}
        for node in nodes.values():
            name = node.properties.get("data_source")
            if name and name not in names:
                place = node.places.get("data_source", node.place)
                text = f"there is no data source {name}{suggestion(name, names)}; data_sources has: {known(names)}"
                self._findings.mistake(place, text)
