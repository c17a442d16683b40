"""What all nodes of a compiled flow have in common: terminals, and what happens when they fail.

A node has no state: threads share it. What belongs to a message is in the assembly and in the run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from heliograph.flow.definition.flow import NodeDefinition
from heliograph.flow.engine.exceptions import FLOW_TOO_DEEP, NODE_FAILED, ExceptionRecord, FlowException, record_of
from heliograph.flow.engine.outcome import Outcome
from heliograph.flow.engine.resources import Resources
from heliograph.flow.engine.run import Assembly, Run, Target

if TYPE_CHECKING:
    from heliograph.flow.engine.building import Building


class Node:
    """A node: `accept` takes an assembly, and propagates what it makes of it to its terminals before it returns.

    An exception of the node's own goes to its failure terminal, if that is connected, and otherwise back through the
    flow as a `FlowException`. A `FlowException` comes from behind the node and only passes through.
    """

    def __init__(self, definition: NodeDefinition, building: "Building") -> None:
        self.name = definition.name
        self.type = definition.type
        self.flow = building.flow
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


class Timekeeper(Node):
    """A node with time-outs."""

    def due(self, now: datetime, resources: Resources) -> Sequence[Timer]:
        """What has timed out by now."""
        raise AssertionError

    def expire(
        self, timer: Timer, now: datetime, resources: Resources, refusals: Mapping[tuple[str, str], str] | None
    ) -> Outcome:
        """Send it on."""
        raise AssertionError
