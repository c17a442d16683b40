"""Nodes that act because of the time, not because of a message."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from heliograph.flow.engine.node import Node
from heliograph.flow.engine.outcome import Outcome
from heliograph.flow.engine.resources import Resources


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
