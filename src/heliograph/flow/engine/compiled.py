"""Compiled flows."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from heliograph.flow.definition.flow import FlowDefinition, NodeDefinition
from heliograph.flow.engine.outcome import Outcome
from heliograph.flow.engine.resources import Resources
from heliograph.flow.envelope import Envelope

Refusals = Mapping[tuple[str, str], str]
"""Puts that the server has refused: (node, queue or topic) -> why."""


class CompiledFlow:
    """A flow as a function on a batch of messages. Has no state; threads may share it. Pickles as its definition."""

    definition: FlowDefinition
    inputs: Mapping[str, NodeDefinition]
    """The nodes through which messages come in, by name: QueueInput, TopicInput, FileInput, HttpInput."""
    has_timers: bool
    """Whether `due` can ever find something: the flow has an AggregateReply."""

    def __init__(self, definition: FlowDefinition, *, measured: bool = False) -> None:
        self.definition = definition
        self.measured = measured
        self.inputs = {name: node for name, node in definition.nodes.items() if node.type.endswith("Input")}
        self.has_timers = any(node.type == "AggregateReply" for node in definition.nodes.values())

    def process(
        self,
        input_node: str,
        envelopes: Sequence[Envelope],
        resources: Resources,
        now: datetime,
        refusals: Refusals | None = None,
    ) -> list[Outcome]:
        """One outcome for each message, in order.

        `now` is local time without a zone. If the server refused a put of an earlier attempt, roll back and process
        the message again with `refusals`: the node then fails, and its failure terminal and the rules of catching see
        it.
        """
        raise AssertionError

    def due(self, now: datetime, resources: Resources) -> Sequence["Timer"]:
        """What has timed out by now; expire each in a unit of work of its own."""
        raise AssertionError

    def expire(self, timer: "Timer", now: datetime, resources: Resources, refusals: Refusals | None = None) -> Outcome:
        """Send on what has timed out. DONE: commit; BACKOUT: roll back, it stays due."""
        raise AssertionError


class Timer:
    """An aggregation, or a reply that nobody waits for, whose time is over."""


def compile_flow(definition: FlowDefinition, *, measured: bool = False) -> CompiledFlow:
    """Compile a checked definition. With `measured`, nodes count and take their time into `Resources.statistics`."""
    return CompiledFlow(definition, measured=measured)
