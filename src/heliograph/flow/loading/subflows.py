"""Subflows and parameters: a flow as it is when all of them are filled in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from heliograph.common.documents import Place
from heliograph.flow.definition import Connection, Findings, known, suggestion
from heliograph.flow.loading.flow_document import Written, WrittenNode

# Parameters: values that differ from one environment to the next, written `$(name)` in properties.

_USE = re.compile(r"\$\(([^()]*)\)")
_NOT_A_USE = re.compile(r"\$\{(\w+)\}")
"""How other tools write a parameter."""


def overlaid(
    parameters: Mapping[str, Any], others: Mapping[str, Any], place_of: Mapping[str, Place], findings: Findings
) -> dict[str, Any]:
    """The parameters of a flow with the values of an environment; only what the flow declares can be given."""
    for name in others:
        if name not in parameters:
            findings.mistake(
                place_of.get(name, Place("parameters")),
                f"the flow has no parameter {name}{suggestion(name, parameters)}; it has: {known(parameters)}",
            )
    return {name: others.get(name, value) for name, value in parameters.items()}


def replaced(value: Any, parameters: Mapping[str, Any], place: Place, findings: Findings) -> Any:
    """The value with `$(name)` replaced, also inside lists and mappings.

    A text that is nothing but `$(name)` becomes the parameter's value, of whatever type.
    """
    if isinstance(value, str):
        return _replaced_text(value, parameters, place, findings)
    if isinstance(value, list):
        return [replaced(item, parameters, place, findings) for item in value]
    if isinstance(value, dict):
        return {key: replaced(item, parameters, place, findings) for key, item in value.items()}
    return value


def _replaced_text(text: str, parameters: Mapping[str, Any], place: Place, findings: Findings) -> Any:
    for name in _NOT_A_USE.findall(text):
        if name in parameters:
            findings.warning(place, f"${{{name}}} is taken as it stands; the parameter is $({name})")
    if "$(" not in text:
        return text
    for name in _USE.findall(text):
        if name not in parameters:
            findings.mistake(
                place, f"there is no parameter {name}{suggestion(name, parameters)}; there are: {known(parameters)}"
            )
            return text
    whole = _USE.fullmatch(text)
    if whole is not None:
        return parameters[whole.group(1)]
    return _USE.sub(lambda use: str(parameters[use.group(1)]), text)


# Puts subflows into the flow that uses them, so that the engine knows nodes and connections only.
#
# A node of type Subflow stands for the nodes of its file. What is connected to it goes to what the subflow's Input
# nodes are connected to, and what leads to the subflow's Output nodes goes to what the Subflow node is connected to.

SUBFLOW = "Subflow"
INPUT = "Input"
OUTPUT = "Output"


@dataclass(frozen=True, slots=True)
class _Used:
    """The file that a Subflow node uses, with its terminals."""

    written: Written
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def terminals(subflow: Written) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The input and output terminals of a Subflow node: its Input and Output nodes."""
    inputs = tuple(name for name, node in subflow.nodes.items() if node.type == INPUT)
    outputs = tuple(name for name, node in subflow.nodes.items() if node.type == OUTPUT)
    return inputs, outputs


def expanded(
    flow: Written, subflows: Mapping[str, Written], findings: Findings
) -> tuple[dict[str, WrittenNode], list[Connection]]:
    """All nodes (those of subflows named `subflow.node`), and all connections between them."""
    nodes, connections = _Expansion(subflows, findings).expand(flow, "", ())
    return nodes, _bridged(nodes, connections)


class _Expansion:
    def __init__(self, subflows: Mapping[str, Written], findings: Findings) -> None:
        self._subflows = subflows
        self._findings = findings

    def expand(
        self, written: Written, prefix: str, around: tuple[str, ...]
    ) -> tuple[dict[str, WrittenNode], list[Connection]]:
        """`around` are the subflows that this one is inside of."""
        nodes: dict[str, WrittenNode] = {}
        connections: list[Connection] = []
        used: dict[str, _Used] = {}
        for node in written.nodes.values():
            name = prefix + node.name
            if node.type != SUBFLOW:
                if node.type in (INPUT, OUTPUT) and not prefix:
                    self._findings.mistake(
                        node.place, f"{node.type} {node.name} belongs into a subflow, not into a flow"
                    )
                nodes[name] = replace(node, name=name)
                continue
            inner = self._used(node, around)
            if inner is not None:
                used[node.name] = _Used(inner, *terminals(inner))
                inner_nodes, inner_connections = self.expand(inner, f"{name}.", (*around, inner.name))
                nodes.update(inner_nodes)
                connections.extend(inner_connections)
        for connection in written.connections:
            made = self._connection(connection, prefix, used)
            if made is not None:
                connections.append(made)
        return nodes, connections

    def _used(self, node: WrittenNode, around: tuple[str, ...]) -> Written | None:
        """The subflow that the node names, with the properties that the node gives."""
        name = node.properties.get("flow")
        place = node.places.get("flow", node.place)
        if not isinstance(name, str):
            self._findings.mistake(place, f"Subflow {node.name} needs a property flow: the name of a file in subflows/")
            return None
        subflow = self._subflows.get(name)
        if subflow is None:
            text = f"there is no subflow {name}{suggestion(name, self._subflows)}; there are: {known(self._subflows)}"
            self._findings.mistake(place, text)
            return None
        if subflow.name in around:
            self._findings.mistake(place, f"subflow {name} is inside itself: {' > '.join((*around, name))}")
            return None
        return self._promoted(node, subflow)

    def _promoted(self, node: WrittenNode, subflow: Written) -> Written:
        nodes = dict(subflow.nodes)
        for name, value in node.properties.items():
            if name == "flow":
                continue
            place = node.places[name]
            if name not in subflow.promoted:
                self._findings.mistake(
                    place,
                    f"subflow {subflow.name} has no property {name}{suggestion(name, subflow.promoted)}; "
                    f"it has: {known(subflow.promoted)}",
                )
            for inner, inner_property in subflow.promoted.get(name, ()):
                old = nodes[inner]
                nodes[inner] = replace(
                    old,
                    properties={**old.properties, inner_property: value},
                    places={**old.places, inner_property: place},
                )
        return replace(subflow, nodes=nodes)

    def _connection(self, connection: Connection, prefix: str, used: Mapping[str, _Used]) -> Connection | None:
        source, terminal = prefix + connection.source, connection.terminal
        target, input_terminal = prefix + connection.target, connection.input
        if connection.source in used:
            if not self._has(terminal, used[connection.source].outputs, connection.source, "output", connection.place):
                return None
            source, terminal = f"{source}.{terminal}", "out"
        if connection.target in used:
            if not self._has(
                input_terminal, used[connection.target].inputs, connection.target, "input", connection.place
            ):
                return None
            target, input_terminal = f"{target}.{input_terminal}", "in"
        return Connection(source, terminal, target, input_terminal, connection.place)

    def _has(self, terminal: str, terminals: tuple[str, ...], node: str, way: str, place: Place) -> bool:
        if terminal in terminals:
            return True
        self._findings.mistake(
            place,
            f"subflow {node} has no {way} terminal {terminal}{suggestion(terminal, terminals)}; "
            f"it has: {known(terminals)}",
        )
        return False


def _bridged(nodes: dict[str, WrittenNode], connections: list[Connection]) -> list[Connection]:
    """Connections that lead past Input and Output nodes; these are taken out of `nodes`."""
    bridges = {name for name, node in nodes.items() if node.type in (INPUT, OUTPUT) and "." in name}
    behind: dict[str, list[Connection]] = {name: [] for name in bridges}
    for connection in connections:
        if connection.source in bridges:
            behind[connection.source].append(connection)

    def ends(connection: Connection) -> list[Connection]:
        if connection.target not in bridges:
            return [connection]
        return [
            replace(connection, target=end.target, input=end.input)
            for following in behind[connection.target]
            for end in ends(following)
        ]

    result = [end for connection in connections if connection.source not in bridges for end in ends(connection)]
    for name in bridges:
        del nodes[name]
    return result
