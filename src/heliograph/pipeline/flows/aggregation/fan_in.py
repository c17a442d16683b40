"""Which part of a flow collects the replies to what another part has asked."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from heliograph.flow.definition import FlowDefinition, NodeDefinition, single_partition
from heliograph.pipeline.flows.reachable import INPUTS, reachable


@dataclass(frozen=True, slots=True)
class FanIn:
    """Where the replies of an aggregation go."""

    aggregate: str
    entry: str
    """The input that gets them."""
    node: str
    """The AggregateReply."""
    timeout: float
    """The longest of its AggregateControl nodes, in seconds."""


def gets_replies(definition: FlowDefinition, entry: str) -> bool:
    """Whether the messages of an input come to an AggregateReply."""
    return any(node.type == "AggregateReply" for node in reachable(definition, entry).values())


def fan_ins(definition: FlowDefinition, asking: Iterable[NodeDefinition]) -> list[FanIn]:
    """Where replies go to what these nodes ask. Of a flow for which there are no `problems`."""
    found = []
    for aggregate, controls in _controls(asking).items():
        (reply,) = _replies(definition, aggregate)
        (entry,) = _entries(definition, reply.name)
        timeout = max(float(control.properties["timeout"]) for control in controls)
        found.append(FanIn(aggregate, entry, reply.name, timeout))
    return found


def at_once(definition: FlowDefinition) -> FlowDefinition:
    """The flow with AggregateReply nodes that do not keep unknown replies: here, none comes before its request."""
    nodes = {
        name: replace(node, properties={**node.properties, "unknown_timeout": 0})
        if node.type == "AggregateReply"
        else node
        for name, node in definition.nodes.items()
    }
    return replace(definition, nodes=nodes)


def problems(definition: FlowDefinition, nodes: Mapping[str, NodeDefinition]) -> Iterator[str]:
    """What keeps the aggregations that these nodes begin from running on Spark."""
    controls = _controls(nodes.values())
    if controls and single_partition(definition.settings):
        yield "spark: {single_partition: yes} is not possible for a flow that aggregates: its replies come elsewhere"
    for node in nodes.values():
        if node.type == "AggregateReply":
            yield _told(
                node,
                "its input cannot get a stream: on Spark, replies come by way of the aggregation itself; choose the "
                "input that leads to AggregateControl",
            )
    for aggregate, several in controls.items():
        for control in several:
            yield from _control_problems(definition, control)
        yield from _reply_problems(definition, aggregate, several[0])


def _control_problems(definition: FlowDefinition, control: NodeDefinition) -> Iterator[str]:
    if not control.properties["timeout"]:
        yield _told(control, "timeout: 0 would have Spark keep sets for ever; say after how many seconds it is enough")
    if any(one.source == control.name and one.terminal == "control" for one in definition.connections):
        yield _told(
            control,
            "its control terminal is connected, and need not be: on Spark, what was asked is known before any reply; "
            "take the connection away",
        )


def _reply_problems(definition: FlowDefinition, aggregate: str, control: NodeDefinition) -> Iterator[str]:
    replies = _replies(definition, aggregate)
    if len(replies) != 1:
        yield _told(
            control,
            f"on Spark, the flow has to have one AggregateReply for aggregate {aggregate}, found {len(replies)}",
        )
        return
    (reply,) = replies
    entries = _entries(definition, reply.name)
    if len(entries) != 1 or definition.nodes[entries[0]].type not in INPUTS:
        found = ", ".join(f"{definition.nodes[name].type} {name}" for name in entries) or "none"
        yield _told(reply, f"on Spark, one QueueInput or TopicInput has to lead to it, found: {found}")
        return
    for node in reachable(definition, entries[0]).values():
        if node.type == "AggregateControl":
            yield _told(node, f"it is reached by replies of {aggregate}; on Spark, no aggregation can follow another")


def _told(node: NodeDefinition, why: str) -> str:
    return f"{node.place}: {node.type} {node.name}: {why}"


def _controls(nodes: Iterable[NodeDefinition]) -> dict[str, list[NodeDefinition]]:
    found: dict[str, list[NodeDefinition]] = {}
    for node in nodes:
        if node.type == "AggregateControl":
            found.setdefault(node.properties["aggregate"], []).append(node)
    return found


def _replies(definition: FlowDefinition, aggregate: str) -> list[NodeDefinition]:
    return [
        node
        for node in definition.nodes.values()
        if node.type == "AggregateReply" and node.properties["aggregate"] == aggregate
    ]


def _entries(definition: FlowDefinition, node: str) -> list[str]:
    inputs = [name for name, one in definition.nodes.items() if one.type.endswith("Input")]
    return [name for name in inputs if node in reachable(definition, name)]
