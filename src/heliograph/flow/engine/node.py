"""What all nodes of a compiled flow have in common: terminals, and what happens when they fail.

A node has no state: threads share it. What belongs to a message is in the assembly and in the run.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from heliograph.flow.definition import NodeDefinition
from heliograph.flow.engine.compilation import Compilation
from heliograph.flow.engine.exceptions import FLOW_TOO_DEEP, NODE_FAILED, ExceptionRecord, FlowException, record_of
from heliograph.flow.engine.outcome import Outcome
from heliograph.flow.engine.run import Assembly, Resources, Run, Target


class Node:
    """A node: `accept` takes an assembly, and propagates what it makes of it to its terminals before it returns.

    An exception of the node's own goes to its failure terminal, if that is connected, and otherwise back through the
    flow as a `FlowException`. A `FlowException` comes from behind the node and only passes through.
    """

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        self.name = definition.name
        self.type = definition.type
        self.flow = compilation.flow
        self.failure: Target | None = None

    def link(self, terminals: Mapping[str, Target]) -> None:
        """Take what is connected to the output terminals; those that are not in the mapping lead nowhere."""
        self.failure = terminals.get("failure")

    def input(self, terminal: str) -> Target:
        """The input terminal of this name."""
        return self.accept

    def accept(self, assembly: Assembly, run: Run) -> None:
        """Do the work for one message."""
        raise AssertionError(f"{self.type} has no input terminal")

    def fail(self, assembly: Assembly, run: Run, error: Exception) -> None:
        """Deal with an exception in this node: `assembly` is what the node received."""
        if isinstance(error, FlowException):
            raise error
        if isinstance(error, RecursionError):
            raise FlowException(self.too_deep()) from error
        record = record_of(error, self.flow, self.name, self.type)
        if self.failure is None:
            raise FlowException(record, error) from error
        run.handle(record)
        self.failure(assembly.with_exception(record), run)

    def too_deep(self) -> ExceptionRecord:
        """What is said when the path of a message does not end."""
        label = f"{self.flow}.{self.name}"
        text = "The path of the message through the flow is too long: it goes around in a loop that does not end."
        cause = ExceptionRecord(text, FLOW_TOO_DEEP, type=self.type, name=self.name, label=label)
        return ExceptionRecord(
            f"Node {self.name} failed.", NODE_FAILED, type=self.type, name=self.name, label=label, cause=cause
        )


def joined(targets: Sequence[Target]) -> Target:
    """One target for all that is connected to a terminal: each path is complete before the next begins."""
    if len(targets) == 1:
        return targets[0]
    several = tuple(targets)

    def accept(assembly: Assembly, run: Run) -> None:
        for target in several:
            target(assembly, run)

    return accept


# Nodes that act because of the time, not because of a message.


@dataclass(frozen=True, slots=True)
class Timer:
    """Something whose time is over."""

    node: str
    kind: str
    key: bytes
    occasion: bytes = b"time"
    """Why it is sent on: another occasion finds nothing left to do, and the same one again does the same again."""


class TimerNode(Node):
    """A node with time-outs."""

    def due(self, now: datetime, resources: Resources) -> Sequence[Timer]:
        """What has timed out by now."""
        raise AssertionError

    def expire(
        self, timer: Timer, now: datetime, resources: Resources, refusals: Mapping[tuple[str, str], str] | None
    ) -> Outcome:
        """Send it on."""
        raise AssertionError


# Kinds of nodes: their properties and terminals, so that a flow file can be checked before anything is compiled.

REQUIRED: Any = object()
"""The default of a property that has to be given."""

PropertyType = Literal["text", "integer", "number", "boolean", "choice", "texts", "mapping", "file"]


@dataclass(frozen=True, slots=True)
class Property:
    """One property: its type, its default, and what it is for."""

    help: str
    type: PropertyType = "text"
    default: Any = ""
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    suffix: str = ""
    """Of a file: how its name ends."""

    @property
    def required(self) -> bool:
        """Whether it has to be given."""
        return self.default is REQUIRED


@dataclass(frozen=True, slots=True)
class NodeKind:
    """One type of nodes."""

    name: str
    help: str
    build: Callable[[NodeDefinition, Compilation], Node]
    properties: Mapping[str, Property] = field(default_factory=dict)
    inputs: tuple[str, ...] = ("in",)
    outputs: tuple[str, ...] = ("out", "failure")
    optional_inputs: tuple[str, ...] = ()
    """Input terminals that need no connection."""
    check: Callable[[Mapping[str, Any]], Iterator[tuple[str, str]]] | None = None
    """What is wrong with properties that are right one by one: the property, and a text."""

    @property
    def is_input(self) -> bool:
        """Whether messages come into the flow here."""
        return self.name.endswith("Input")


def choice(help: str, *choices: str, default: str | None = None) -> Property:  # noqa: A002
    """A property with a few values; the first is the default, unless another is named."""
    return Property(help, "choice", choices[0] if default is None else default, choices)


READING: Mapping[str, Property] = {
    "domain": Property("The format of bodies (XML, XMLNS, XMLNSC, JSON, BLOB, MRM); what headers say comes first."),
    "message_set": Property("The model, for domain MRM."),
    "message_type": Property("The message in the model."),
    "message_format": Property("The physical format in the model."),
}
"""How bodies are read."""

TRANSACTION = choice(
    "Whether puts belong to the unit of work: as the message that came in, always, or never.",
    "automatic",
    "yes",
    "no",
)
