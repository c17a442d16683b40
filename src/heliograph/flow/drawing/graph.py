"""What is to be seen of a flow: a box for each node, an arrow for each connection, and for each way to a label."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from heliograph.errors import Problem
from heliograph.flow.definition import FlowDefinition, NodeDefinition
from heliograph.flow.engine.esql_programs import MODULE_KINDS, labels_of, select_module
from heliograph.flow.language.esql.parsing.program_parsing import parse_program

ERROR_TERMINALS = frozenset({"failure", "catch"})

_DETAILS = (
    "queue",
    "topic",
    "directory",
    "path",
    "esql",
    "map",
    "file",
    "folder",
    "aggregate",
    "label",
    "flow",
    "text",
)
"""Properties that say most about a node; the first that it has is shown."""


class Role(Enum):
    """What a node is there for; the colour of its box."""

    INPUT = "input"
    OUTPUT = "output"
    WORK = "work"
    WAY = "way"
    TROUBLE = "trouble"


_ROLES = {
    Role.OUTPUT: ("QueueOutput", "QueueReply", "FileOutput", "HttpReply", "Publication"),
    Role.WAY: ("Filter", "RouteToLabel", "Label", "FlowOrder"),
    Role.TROUBLE: ("TryCatch", "Throw"),
}


class Style(Enum):
    """How an arrow is drawn."""

    PLAIN = "plain"
    ERROR = "error"
    LABEL = "label"
    """Chosen by name while the flow runs."""


@dataclass(frozen=True, slots=True)
class Box:
    """A node."""

    name: str
    """`subflow.node`, if it belongs to a subflow."""
    type: str
    detail: str
    role: Role


@dataclass(frozen=True, slots=True)
class Arrow:
    """A connection."""

    source: str
    terminal: str
    target: str
    input: str
    style: Style


@dataclass(frozen=True, slots=True)
class Graph:
    """A flow to be drawn."""

    name: str
    boxes: Sequence[Box]
    arrows: Sequence[Arrow]


def graph_of(definition: FlowDefinition) -> Graph:
    """Everything in the order in which the flow's file has it."""
    boxes = [Box(node.name, node.type, _detail(node), _role(node.type)) for node in definition.nodes.values()]
    arrows = [
        Arrow(
            each.source,
            each.terminal,
            each.target,
            each.input,
            Style.ERROR if each.terminal in ERROR_TERMINALS else Style.PLAIN,
        )
        for each in definition.connections
    ]
    return Graph(definition.name, boxes, [*arrows, *_to_labels(definition)])


def _detail(node: NodeDefinition) -> str:
    return next((str(node.properties[name]) for name in _DETAILS if node.properties.get(name)), "")


def _role(type_name: str) -> Role:
    if type_name.endswith("Input"):
        return Role.INPUT
    return next((role for role, names in _ROLES.items() if type_name in names), Role.WORK)


def _to_labels(definition: FlowDefinition) -> Iterator[Arrow]:
    """RouteToLabel can lead to every label; ESQL to those that it names."""
    labels = {
        node.properties["label"] or node.name.rpartition(".")[2]: node.name
        for node in definition.nodes.values()
        if node.type == "Label"
    }
    if not labels:
        return
    for node in definition.nodes.values():
        if node.type == "RouteToLabel":
            names = list(labels)
        elif node.type in MODULE_KINDS:
            names = [*dict.fromkeys(_named(definition, node))]
        else:
            continue
        for name in names:
            if name in labels:
                yield Arrow(node.name, "label", labels[name], "in", Style.LABEL)


def _named(definition: FlowDefinition, node: NodeDefinition) -> Iterator[str]:
    file, kind = node.properties["esql"], MODULE_KINDS[node.type]
    try:
        module = select_module(parse_program(definition.sources[file], file, kind), node.properties["module"], kind)
    except Problem:
        return
    for label in labels_of([module]):
        yield str(label.value)
