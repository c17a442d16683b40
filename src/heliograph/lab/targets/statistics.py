"""What a system under test says of itself: queue depths, discards, high-water marks."""

from typing import NamedTuple, Protocol


class Figure(NamedTuple):
    """One figure at one moment."""

    source: str  # `server` for the whole, `queue` for one queue or subscription
    name: str
    metric: str
    value: float


class Statistics(Protocol):
    """Reads figures; made once for a run, read about once a second."""

    def read(self) -> list[Figure]:
        """The figures now; none when it does not answer in time."""

    def close(self) -> None:
        """Let go of connections."""
