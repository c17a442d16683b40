"""What is known of a scenario beside its runs: what it is about, what its value is, and what others have published."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class About:
    """A scenario in a few words.

    `score` names the figure that is its value, `group` the clients that its latency is of (all if empty).
    """

    title: str = ""
    score: str = ""
    unit: str = ""
    group: str = ""


@dataclass(frozen=True)
class Published:
    """A figure of a document; `metric` is the name of a score, None stands where the document says nothing."""

    source: str
    metric: str
    value: float | None = None
    unit: str = ""
    avg_ms: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    stdev_ms: float | None = None
    high_water: float | None = None
    cpu_percent: float | None = None
    cpu_ms: float | None = None
    clients: float | None = None
    latency_ms: float | None = None
    vs_direct: float | None = None


@dataclass(frozen=True)
class Known:
    """Where the knowledge comes from; an unknown scenario is no error, for results may come from another version."""

    about: Callable[[str], About]
    figures: Callable[[str, str], Sequence[Published]]
    document: Callable[[str], str]
    """The full title of a document."""
    place: Callable[[str, str], tuple[int, int, int]]
    """Where a scenario and its variant stand in the catalogue: document, scenario, variant."""

    def figure(self, scenario: str, variant: str, metric: str) -> Published:
        """What was published of this score; all None if nothing was."""
        found = [figure for figure in self.figures(scenario, variant) if figure.metric == metric]
        return found[0] if found else Published("", metric)
