"""Checks of nodes and their connections."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from heliograph.common.documents import Place
from heliograph.flow.definition import Connection, Findings, NodeDefinition, known, suggestion
from heliograph.flow.engine.node import NodeKind, Property

# Checks of the graph: terminals that do not exist, nodes that get no message, loops that nothing ends.

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
    if not any(kinds[node.type].is_input for node in nodes.values()):
        entries = [kind.name for kind in kinds.values() if kind.is_input]
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


# Checks of one node: its type, and its properties one by one.

YES_NO = {"yes": True, "no": False}

_WORDS = {
    "text": "text",
    "file": "the name of a file",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "yes or no",
    "texts": "a list of texts",
    "mapping": "a mapping",
}


def check_node(
    name: str,
    kind: NodeKind,
    given: Mapping[str, Any],
    place: Place,
    places: Mapping[str, Place],
    findings: Findings,
) -> NodeDefinition:
    """The node with all properties of its type: those given, checked, and the defaults of the others."""
    before = findings.count()
    for unknown in given.keys() - kind.properties.keys():
        findings.mistake(
            places.get(unknown, place),
            f"{kind.name} has no property {unknown}{suggestion(unknown, kind.properties)}; "
            f"it has: {known(kind.properties)}",
        )
    properties = {}
    for property_name, rule in kind.properties.items():
        if property_name in given:
            at = places.get(property_name, place)
            properties[property_name] = check_value(property_name, given[property_name], rule, at, findings)
        elif rule.required:
            findings.mistake(place, f"{kind.name} {name} needs a property {property_name}: {rule.help}")
            properties[property_name] = None
        else:
            properties[property_name] = rule.default
    if kind.check is not None and findings.count() == before:
        for property_name, text in kind.check(properties):
            findings.mistake(places.get(property_name, place), f"{property_name}: {text}")
    return NodeDefinition(name, kind.name, properties, place, dict(places))


def check_value(name: str, value: Any, rule: Property, place: Place, findings: Findings) -> Any:
    """The value as the property's type has it."""
    if rule.type == "choice":
        return _choice(name, value, rule, place, findings)
    checked = _converted(value, rule.type)
    if checked is None:
        hint = "; put it in quotes" if rule.type == "text" and isinstance(value, int | float) else ""
        findings.mistake(place, f"{name}: expected {_WORDS[rule.type]}, found {_found(value)}{hint}")
        return rule.default if not rule.required else None
    too_small = rule.least is not None and checked < rule.least
    too_large = rule.most is not None and checked > rule.most
    if too_small or too_large:
        findings.mistake(place, f"{name}: expected {_range(rule)}, found {checked}")
    return checked


def _choice(name: str, value: Any, rule: Property, place: Place, findings: Findings) -> Any:
    if value in rule.choices:
        return value
    hint = suggestion(value, rule.choices) if isinstance(value, str) else ""
    findings.mistake(place, f"{name}: expected one of {', '.join(rule.choices)}, found {_found(value)}{hint}")
    return rule.default


def _converted(value: Any, type_name: str) -> Any:
    """None if the value is not of this type."""
    match type_name:
        case "text" | "file":
            return value if isinstance(value, str) else None
        case "integer":
            return value if isinstance(value, int) and not isinstance(value, bool) else None
        case "number":
            return value if isinstance(value, int | float) and not isinstance(value, bool) else None
        case "boolean":
            return value if isinstance(value, bool) else YES_NO.get(value) if isinstance(value, str) else None
        case "texts":
            texts = [value] if isinstance(value, str) else value
            is_right = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
            return tuple(texts) if is_right else None
    return value if isinstance(value, dict) else None


def _range(rule: Property) -> str:
    if rule.least is None:
        return f"at most {rule.most:g}"
    if rule.most is None:
        return f"{rule.least:g} or more"
    return f"{rule.least:g} to {rule.most:g}"


def _found(value: Any) -> str:
    if value is None:
        return "nothing"
    return "a list" if isinstance(value, list) else "a mapping" if isinstance(value, dict) else repr(value)
