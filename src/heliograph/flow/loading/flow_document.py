"""A flow or subflow as its file has it: nodes and connections with their places, before subflows are put in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heliograph.common.documents import Document, Place
from heliograph.flow.definition import Connection, Findings, known, suggestion

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_CONNECTION = re.compile(r"\s*([^\s.>]+)\.([^\s.>]+)\s*->\s*([^\s.>]+)(?:\.([^\s.>]+))?\s*")

SETTINGS = (
    "additional_instances",
    "commit_count",
    "commit_interval",
    "coordinated",
    "data_sources",
    "execution_groups",
    "http",
    "server",
    "spark",
)
"""How a flow is run; the runner says what they mean."""

_FLOW_KEYS = ("flow", "description", "parameters", "nodes", "connections", *SETTINGS)
_SUBFLOW_KEYS = ("subflow", "description", "properties", "nodes", "connections")


@dataclass(frozen=True, slots=True)
class WrittenNode:
    """A node as it was written."""

    name: str
    type: str
    properties: Mapping[str, Any]
    place: Place
    places: Mapping[str, Place]


@dataclass(slots=True)
class Written:
    """A flow or a subflow as it was written."""

    name: str
    file: str
    nodes: dict[str, WrittenNode] = field(default_factory=dict)
    connections: list[Connection] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    settings_places: dict[str, Place] = field(default_factory=dict)
    promoted: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Of a subflow: its properties, and which properties of its nodes they are."""


def read_flow(document: Document, findings: Findings) -> Written:
    """A flow's file."""
    written = _read(document, "flow", _FLOW_KEYS, findings)
    if isinstance(document.value, dict):
        parameters = _mapping(document, "parameters", findings)
        written.parameters = parameters
        for name in SETTINGS:
            if name in document.value:
                written.settings[name] = document.value[name]
                written.settings_places[name] = document.place(name)
    return written


def read_subflow(document: Document, findings: Findings) -> Written:
    """A subflow's file."""
    written = _read(document, "subflow", _SUBFLOW_KEYS, findings)
    for name, targets in _mapping(document, "properties", findings).items():
        place = document.place("properties", name)
        written.promoted[name] = []
        for target in targets if isinstance(targets, list) else [targets]:
            node, _, inner = target.partition(".") if isinstance(target, str) else ("", "", "")
            if not inner:
                findings.mistake(place, f"expected NODE.PROPERTY behind {name}, found {target!r}")
            elif node not in written.nodes:
                findings.mistake(place, f"there is no node {node}{suggestion(node, written.nodes)}")
            else:
                written.promoted[name].append((node, inner))
    return written


def _read(document: Document, key: str, keys: tuple[str, ...], findings: Findings) -> Written:
    written = Written("", document.file)
    value = document.value
    if not isinstance(value, dict):
        if value is not None:
            findings.mistake(document.place(), f"expected a {key} with nodes and connections, found {value!r}")
        return written
    for name in value:
        if name not in keys:
            text = f"a {key} has no {name}{suggestion(name, keys)}; it has: {known(keys)}"
            findings.mistake(document.place(name), text)
    written.name = value.get(key, "")
    if not isinstance(written.name, str) or not written.name:
        findings.mistake(document.place(key), f"expected the name of the {key}: `{key}: NAME`")
        written.name = ""
    for name, node in _mapping(document, "nodes", findings).items():
        _read_node(document, name, node, written, findings)
    _read_connections(document, written, findings)
    return written


def _mapping(document: Document, key: str, findings: Findings) -> dict[str, Any]:
    value = document.value.get(key) if isinstance(document.value, dict) else None
    if value is None:
        return {}
    if not isinstance(value, dict):
        findings.mistake(document.place(key), f"expected a mapping under {key}, found {value!r}")
        return {}
    return value


def _read_node(document: Document, name: str, node: Any, written: Written, findings: Findings) -> None:
    place = document.place("nodes", name)
    if not _NAME.fullmatch(name):
        findings.mistake(place, f"{name!r} cannot be a node's name: letters, digits, _ and - only, a letter first")
        return
    if not isinstance(node, dict) or not isinstance(node.get("type"), str):
        findings.mistake(place, f"expected {{type: ..., properties}} behind {name}, found {node!r}")
        return
    properties = {key: value for key, value in node.items() if key != "type"}
    places = {key: document.place("nodes", name, key) for key in node}
    written.nodes[name] = WrittenNode(name, node["type"], properties, place, places)


def _read_connections(document: Document, written: Written, findings: Findings) -> None:
    connections = document.value.get("connections", [])
    if connections is None:
        return
    if not isinstance(connections, list):
        findings.mistake(document.place("connections"), "expected a list of NODE.TERMINAL -> NODE under connections")
        return
    seen: dict[tuple[str, str, str, str], int] = {}
    for at, text in enumerate(connections):
        place = document.place("connections", at)
        match = _CONNECTION.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            findings.mistake(place, f"expected NODE.TERMINAL -> NODE.TERMINAL, found {text!r}")
            continue
        source, terminal, target, input_terminal = match.groups()
        ends = (source, terminal, target, input_terminal or "in")
        if ends in seen:
            findings.mistake(place, f"this connection is there twice: first in line {seen[ends]}")
            continue
        seen[ends] = place.line
        written.connections.append(Connection(*ends, place))
