"""What a probe is."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol


class Value(NamedTuple):
    """One value that a probe has read; see `docs/guides/lab.md` for sources and metrics."""

    source: str
    name: str
    metric: str
    value: float


class Probe(Protocol):
    """Looks at something. The first look may be the start of a difference, and show less than later ones."""

    @property
    def asks(self) -> bool:
        """Whether a look makes somebody else work: then its cost is the time that it takes, not our CPU time."""

    def read(self) -> Iterable[Value]:
        """What there is to see now."""

    def close(self) -> None:
        """Let go of whatever it holds open."""


class Sample(NamedTuple):
    """A value and when it was read, in seconds since the measured time began."""

    at: float
    source: str
    name: str
    metric: str
    value: float
