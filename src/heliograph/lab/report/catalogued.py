"""What this version's catalogue of scenarios and its published figures know."""

from collections.abc import Sequence

from heliograph.errors import Problem
from heliograph.lab import published
from heliograph.lab.report.known import About, Known, Published
from heliograph.lab.scenarios import SOURCES, load

_MILLISECONDS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


def _about(scenario: str) -> About:
    try:
        found = load(scenario)
    except Problem:
        return About()
    score = found.score
    return About(found.title, score.value, score.unit, score.group)


def _figures(scenario: str, variant: str) -> Sequence[Published]:
    try:
        return [_published(figure) for figure in published.figures(scenario, variant)]
    except Problem:
        return []


def _published(figure: published.Figure) -> Published:
    factor = _MILLISECONDS.get(figure.unit, 1.0)
    latencies = {
        f"{name}_ms": None if value is None else value * factor
        for name in ("avg", "p50", "p99", "max", "stdev")
        for value in (getattr(figure, name),)
    }
    return Published(
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
        found = load(scenario)
    except Problem:
        return len(SOURCES), 0, 0
    documents = [source.name for source in SOURCES]
    variants = [one.name for one in found.variants]
    return documents.index(found.document), found.order, variants.index(variant) if variant in variants else 0


CATALOGUED = Known(_about, _figures, _document, _place)
