"""Compiled flows: a flow as a function on a batch of messages.

The order of things when a flow is compiled: all nodes are built, then linked to each other, then labels are filled in.
So a node may keep a reference to the table of labels, but must not look into it before a message is there. `measured`
and `observer` wrap targets while they are linked; a flow that is compiled without them pays nothing for either.
"""

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from heliograph.flow.definition import Connection, FlowDefinition, NodeDefinition
from heliograph.flow.engine.compilation import Compilation
from heliograph.flow.engine.input_node import InputNode
from heliograph.flow.engine.node import Node, Timer, TimerNode, joined
from heliograph.flow.engine.node_statistics import measured_target
from heliograph.flow.engine.nodes.node_kinds import KINDS
from heliograph.flow.engine.outcome import Outcome
from heliograph.flow.engine.run import Resources, Target
from heliograph.flow.errors import InvalidFlow
from heliograph.flow.formats.envelope import Envelope

Refusals = Mapping[tuple[str, str], str]
"""Puts that the server has refused: (node, queue or topic) -> why."""

Observer = Callable[[Connection, Target], Target]
"""Gets every connection with what is behind it, and gives what is called in its place. A label has no connection: for
it there is one with a target only."""


class CompiledFlow:
    """A flow as a function on a batch of messages. Has no state; threads may share it. Pickles as its definition."""

    def __init__(self, definition: FlowDefinition, *, measured: bool = False, observer: Observer | None = None) -> None:
        self.definition = definition
        self.measured = measured
        self._observer = observer
        self._nodes = _linked(definition, measured, observer)
        self._entries = {name: node for name, node in self._nodes.items() if isinstance(node, InputNode)}
        self._timekeepers = {name: node for name, node in self._nodes.items() if isinstance(node, TimerNode)}
        self.inputs: Mapping[str, NodeDefinition] = {name: definition.nodes[name] for name in self._entries}
        """The nodes through which messages come in, by name: QueueInput, TopicInput, FileInput, HttpInput."""
        self.has_timers = bool(self._timekeepers)
        """Whether `due` can ever find something."""

    def process(
        self,
        input_node: str,
        envelopes: Iterable[Envelope],
        resources: Resources,
        now: datetime,
        refusals: Refusals | None = None,
    ) -> list[Outcome]:
        """One outcome for each message, in order.

        `now` is local time without a zone. If the server refused a put of an earlier attempt, roll back and process
        the message again with `refusals`: the node then fails, and its failure terminal and the rules of catching see
        it.
        """
        take = self._entry(input_node).take
        return [take(envelope, resources, now, refusals) for envelope in envelopes]

    def due(self, now: datetime, resources: Resources) -> Sequence[Timer]:
        """What has timed out by now; expire each in a unit of work of its own."""
        return [timer for keeper in self._timekeepers.values() for timer in keeper.due(now, resources)]

    def expire(self, timer: Timer, now: datetime, resources: Resources, refusals: Refusals | None = None) -> Outcome:
        """Send on what has timed out. DONE: commit; BACKOUT: roll back, and it stays due."""
        return self._timekeepers[timer.node].expire(timer, now, resources, refusals)

    def _entry(self, name: str) -> InputNode:
        entry = self._entries.get(name)
        if entry is None:
            raise InvalidFlow(f"Flow {self.definition.name} has no input {name}. It has: {', '.join(self._entries)}.")
        return entry

    def __reduce__(self) -> tuple[Any, ...]:
        return _compile, (self.definition, self.measured, self._observer)


def compile_flow(
    definition: FlowDefinition, *, measured: bool = False, observer: Observer | None = None
) -> CompiledFlow:
    """Compile a checked definition.

    With `measured`, nodes count and take their time into `Resources.statistics`. An `observer` sees every step.
    """
    return CompiledFlow(definition, measured=measured, observer=observer)


def _compile(definition: FlowDefinition, measured: bool, observer: Observer | None) -> CompiledFlow:
    return CompiledFlow(definition, measured=measured, observer=observer)


def _linked(definition: FlowDefinition, measured: bool, observer: Observer | None) -> dict[str, Node]:
    """All nodes, each with what is connected to its terminals."""
    compilation = Compilation(definition, observed=observer is not None)
    nodes = {name: KINDS[node.type].build(node, compilation) for name, node in definition.nodes.items()}

    def target(connection: Connection) -> Target:
        accept = nodes[connection.target].input(connection.input)
        if measured:
            accept = measured_target(connection.target, accept)
        return accept if observer is None else observer(connection, accept)

    behind: dict[str, dict[str, list[Target]]] = {name: {} for name in nodes}
    for connection in definition.connections:
        targets = behind[connection.source].setdefault(connection.terminal, [])
        targets.append(target(connection))
    for name, terminals in behind.items():
        nodes[name].link({terminal: joined(targets) for terminal, targets in terminals.items()})
    for name, node in definition.nodes.items():
        if node.type == "Label":
            compilation.labels[node.properties["label"] or name.rpartition(".")[2]] = target(Connection("", "", name))
    return nodes


# Garbage collection in a process that runs flows.
#
# The tree of a message is a cycle, so only the collector frees it. It should run as soon as a few dozen messages may
# have left their trees behind, while these are still in the processor's cache: to collect those of a whole batch at
# once takes several times as long. Modules and compiled flows never become garbage, so they are frozen.

_NEW, _YOUNG, _OLD = 1_000, 20, 50


def tune_garbage_collection() -> None:
    """Call this when a flow is ready: what is there now stays, and what comes and stays is looked at seldom."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW, _YOUNG, _OLD)
