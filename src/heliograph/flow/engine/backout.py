"""Backout counts: which path of an input a message takes that comes again, and when it is put away."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

DEAD_LETTER_QUEUE = "SYSTEM.DEAD.LETTER.QUEUE"


class Path(Enum):
    """Where a message goes that enters the flow in a unit of work."""

    OUT = auto()
    FAILURE = auto()
    PUT_AWAY = auto()
    """The backout queue or the dead-letter queue."""


@dataclass(frozen=True, slots=True)
class Backout:
    """What an input says about messages that fail."""

    threshold: int
    """After so many failed attempts a message takes the failure path; after twice as many it is put away."""
    queues: tuple[str, ...]
    """Where it is put away: the first of these that takes it."""

    @classmethod
    def of(cls, properties: Mapping[str, Any]) -> "Backout":
        """What the properties of an input node say."""
        attempts: int = properties.get("backout_threshold", 0) or 1
        queues = (properties.get("backout_queue", ""), properties.get("dead_letter_queue", ""))
        threshold = attempts + (properties.get("backout_counts") == "retries")
        return cls(threshold, tuple(queue for queue in queues if queue))

    @property
    def queue(self) -> str:
        """The first choice."""
        return self.queues[0] if self.queues else DEAD_LETTER_QUEUE

    def path(self, count: int, *, has_failure_path: bool) -> Path:
        """Where a message goes that has failed so many times."""
        if count < self.threshold:
            return Path.OUT
        return Path.FAILURE if has_failure_path and count < 2 * self.threshold else Path.PUT_AWAY

    def last_counts(self) -> list[int]:
        """Backout counts for who cannot give messages back: the first, and the last for each path."""
        return sorted({0, self.threshold - 1, self.threshold, 2 * self.threshold - 1})
