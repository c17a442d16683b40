"""Figures of one queue."""

from dataclasses import dataclass


@dataclass(slots=True)
class Counters:
    """What has happened since the server was started."""

    put: int = 0
    got: int = 0
    """Messages that left the queue because somebody had use for them."""
    expired: int = 0
    dead_lettered: int = 0
    """Messages that went to a dead-letter or backout queue."""
    refused: int = 0
    """Messages that were not taken: full, too long, not allowed, or trouble with the disk."""
    high_water: int = 0
    """Most messages that were in the queue at once."""


@dataclass(slots=True)
class UnitOfWorkCounters:
    """Units of work of clients, since the server was started."""

    open: int = 0
    """Those that go on now."""
    committed: int = 0
    rolled_back: int = 0


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """A queue at one moment."""

    depth: int
    in_flight: int
    """Delivered and not settled, or settled in a unit of work that is not committed."""
    delayed: int
    consumers: int
    oldest_age: float
    """Seconds that the oldest message that waits has been in the queue; 0 if none does."""
    put: int
    got: int
    expired: int
    dead_lettered: int
    refused: int
    high_water: int
