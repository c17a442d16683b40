"""Checks of the graph: terminals that do not exist, nodes that get no message, loops that nothing ends."""

from collections.abc import Iterator, Mapping, Sequence

from heliograph.common.documents import Place
from heliograph.flow.definition.flow import Connection, NodeDefinition
from heliograph.flow.definition.mistakes import Findings, known, suggestion
from heliograph.flow.engine.nodes.properties import NodeKind

_DECIDING = frozenset({"AggregateReply", "Compute", "Filter", "Python", "RouteToLabel", "Throw"})
"""Nodes that can end a loop, by sending a message another way or not at all."""


def check_connections(
    nodes: Mapping[str, str], connections: Sequence[Connection], kinds: Mapping[str, NodeKind], findings: Findings
) -> list[Connection]:
    """Connections whose both ends are there; `nodes` has the type of each node."""
    return [
        connection
        for connection in connections
        # Both ends are looked at, so that both are told if they are wrong.
        if all([_check_source(connection, nodes, kinds, findings), _check_target(connection, nodes, kinds, findings)])
    ]


def _check_source(
    connection: Connection, nodes: Mapping[str, str], kinds: Mapping[str, NodeKind], findings: Findings
) -> bool:
    return _check_end(connection.source, connection.terminal, "output", nodes, kinds, connection.place, findings)


def _check_target(
    connection: Connection, nodes: Mapping[str, str], kinds: Mapping[str, NodeKind], findings: Findings
) -> bool:
    return _check_end(connection.target, connection.input, "input", nodes, kinds, connection.place, findings)


def _check_end(
    node: str,
    terminal: str,
    way: str,
    nodes: Mapping[str, str],
    kinds: Mapping[str, NodeKind],
    place: Place,
    findings: Findings,
) -> bool:
    if node not in nodes:
        findings.mistake(place, f"there is no node {node}{suggestion(node, nodes)}")
        return False
    kind = kinds.get(nodes[node])
    if kind is None:
        return False  # its type is unknown, which has been told
    terminals = kind.outputs if way == "output" else kind.inputs
    if terminal in terminals:
        return True
    has = f"it has: {known(terminals)}" if terminals else f"{kind.name} has none"
    findings.mistake(
        place, f"{kind.name} {node} has no {way} terminal {terminal}{suggestion(terminal, terminals)}; {has}"
    )
    return False


def check_inputs(
    nodes: Mapping[str, NodeDefinition],
    connections: Sequence[Connection],
    kinds: Mapping[str, NodeKind],
    file: str,
    findings: Findings,
) -> None:
    """Every node gets messages, and the flow has a node where they come in."""
    connected = {(connection.target, connection.input) for connection in connections}
    for node in nodes.values():
        kind = kinds[node.type]
        for terminal in kind.inputs:
            if (node.name, terminal) not in connected and terminal not in kind.optional_inputs:
                findings.mistake(node.place, f"nothing is connected to {node.name}.{terminal}: it never gets a message")
    if not any(kinds[node.type].is_entry for node in nodes.values()):
        entries = [kind.name for kind in kinds.values() if kind.is_entry]
        findings.mistake(Place(file, 1, 1), f"no message comes into the flow: it needs one of {known(entries)}")


def check_loops(nodes: Mapping[str, NodeDefinition], connections: Sequence[Connection], findings: Findings) -> None:
    """A loop in which no node can send the message another way goes on until the flow gives up."""
    behind: dict[str, set[str]] = {name: set() for name in nodes}
    for connection in connections:
        behind[connection.source].add(connection.target)
    for loop in _loops(behind):
        if not any(nodes[name].type in _DECIDING for name in loop):
            ring = " -> ".join((*loop, loop[0]))
            findings.warning(nodes[loop[0]].place, f"no node ends the loop {ring}")


def _loops(behind: Mapping[str, set[str]]) -> Iterator[list[str]]:
    """One loop for each group of nodes that can all reach each other, beginning with the first by name."""
    done: set[str] = set()
    for start in sorted(behind):
        if start in done:
            continue
        path = _way(start, start, behind)
        if path:
            done.update(path)
            yield path


def _way(start: str, end: str, behind: Mapping[str, set[str]]) -> list[str]:
    """The nodes of a shortest way of at least one connection from start to end, without the end; empty if none."""
    ways = [[start]]
    seen: set[str] = set()
    while ways:
        way = ways.pop(0)
        for following in sorted(behind[way[-1]]):
            if following == end:
                return way
            if following not in seen:
                seen.add(following)
                ways.append([*way, following])
    return []
