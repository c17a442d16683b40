"""Reference data beside the runs: what a scenario is about, its score, and figures that others have published."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heliograph.errors import Problem
from heliograph.lab.published import published_figures
from heliograph.lab.scenarios import SOURCES, load_scenario

_MILLISECONDS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


@dataclass(frozen=True)
class ScenarioSummary:
    """A scenario in a few words.

    `score` names the figure that is its value, `group` the clients that its latency is of (all if empty).
    """

    title: str = ""
    score: str = ""
    unit: str = ""
    group: str = ""


@dataclass(frozen=True)
class ReferenceFigure:
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
class ReferenceData:
    """Where the knowledge comes from; an unknown scenario is no error, for results may come from another version."""

    about: Callable[[str], ScenarioSummary]
    figures: Callable[[str, str], Sequence[ReferenceFigure]]
    document: Callable[[str], str]
    """The full title of a document."""
    place: Callable[[str, str], tuple[int, int, int]]
    """Where a scenario and its variant stand in the catalogue: document, scenario, variant."""

    def figure(self, scenario: str, variant: str, metric: str) -> ReferenceFigure:
        """What was published of this score; all None if nothing was."""
        found = [figure for figure in self.figures(scenario, variant) if figure.metric == metric]
        return found[0] if found else ReferenceFigure("", metric)


def _about(scenario: str) -> ScenarioSummary:
    try:
        found = load_scenario(scenario)
    except Problem:
        return ScenarioSummary()
    score = found.score
    return ScenarioSummary(found.title, score.value, score.unit, score.group)


def _figures(scenario: str, variant: str) -> Sequence[ReferenceFigure]:
    try:
        return [_published(figure) for figure in published_figures.figures(scenario, variant)]
    except Problem:
        return []


def _published(figure: published_figures.PublishedFigure) -> ReferenceFigure:
    factor = _MILLISECONDS.get(figure.unit, 1.0)
    latencies = {
        f"{name}_ms": None if value is None else value * factor
        for name in ("avg", "p50", "p99", "max", "stdev")
        for value in (getattr(figure, name),)
    }
    return ReferenceFigure(
        figure.system or _document(figure.document),
        figure.metric,
        figure.value,
        figure.unit,
        high_water=figure.high_water,
        cpu_percent=figure.cpu_percent,
        cpu_ms=figure.cpu_ms,
        clients=figure.clients,
        latency_ms=figure.latency_ms,
        vs_direct=figure.vs_direct_percent,
        **latencies,
    )


def _document(name: str) -> str:
    return next((f"{one.title} {one.date}".strip() for one in SOURCES if one.name == name), name)


def _place(scenario: str, variant: str) -> tuple[int, int, int]:
    try:
        found = load_scenario(scenario)
    except Problem:
        return len(SOURCES), 0, 0
    documents = [source.name for source in SOURCES]
    variants = [one.name for one in found.variants]
    return documents.index(found.document), found.order, variants.index(variant) if variant in variants else 0


CATALOGUED = ReferenceData(_about, _figures, _document, _place)
