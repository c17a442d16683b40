"""What is known of a scenario beside its runs: what it is about, what its value is, and what others have published."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class About:
    """A scenario in a few words. `score` names the figure that is its value, `direct` the scenario it is a share of."""

    title: str = ""
    score: str = ""
    unit: str = ""
    direct: str = ""


@dataclass(frozen=True)
class Published:
    """A figure of a document; None where the document has none."""

    document: str
    label: str = ""
    value: float | None = None
    unit: str = ""
    avg_ms: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    stdev_ms: float | None = None
    cpu_percent: float | None = None
    cpu_ms: float | None = None
    clients: float | None = None
    latency_ms: float | None = None


@dataclass(frozen=True)
class Known:
    """Where the knowledge comes from; an unknown scenario is no error, for results may come from another version."""

    about: Callable[[str], About]
    figures: Callable[[str, str], Sequence[Published]]

    def figure(self, scenario: str, variant: str, unit: str = "") -> Published | None:
        """The published figure of a scenario, in this unit if there is one."""
        found = self.figures(scenario, variant)
        return next((figure for figure in found if figure.unit == unit), next(iter(found), None))
