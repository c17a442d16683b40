"""Published figures by scenario and variant."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import resources

from heliograph.lab.flows.published_rows import published_rows
from heliograph.lab.scenarios import Scenario, all_scenarios, load_scenario
from heliograph.lab.scenarios.scenario_terms import SINGLE_THREAD

_FILES = {
    "messagesight.csv": "messagesight",
    "messagesight_ve.csv": "messagesight-ve",
    "mq_appliance.csv": "mq-appliance",
    "message_broker.csv": "message-broker",
}
"""Files of figures, and the documents that they are from. What was measured of flows is in `message_flows.csv`."""


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """One figure of a document, with what stands beside it there. What a document does not say is None or empty."""

    document: str
    scenario: str
    variant: str
    table: str
    """Where it stands: a table, a section, the score card, the key results on the first page."""
    label: str
    value: float
    unit: str
    metric: str = ""
    """What the value is of, in the words of scores; empty if no score is."""
    bound: str = ""
    """`more than` or `less than`, if the document says no more."""
    system: str = ""
    avg: float | None = None
    p50: float | None = None
    p99: float | None = None
    max: float | None = None
    stdev: float | None = None
    """Of latencies, in the unit of the value."""
    high_water: float | None = None
    """The most messages that waited in one subscription."""
    cpu_percent: float | None = None
    """Of the whole system."""
    cpu_ms: float | None = None
    """CPU milliseconds per message, of everything on the machine."""
    clients: float | None = None
    latency_ms: float | None = None
    """Of a round trip with a single requester."""
    vs_direct_percent: float | None = None
    """Of the value without the delay."""


_TEXTS = {field.name for field in fields(PublishedFigure) if field.type is str}


def figures(scenario: str, variant: str = "") -> list[PublishedFigure]:
    """What was published of this variant of a scenario (of the usual one, if none is named)."""
    name = load_scenario(scenario).variant(variant).name
    return [figure for figure in every_figure() if (figure.scenario, figure.variant) == (scenario, name)]


@cache
def every_figure() -> tuple[PublishedFigure, ...]:
    """All of them, document by document."""
    found: list[PublishedFigure] = []
    for file, document in _FILES.items():
        text = (resources.files("heliograph.lab.published") / file).read_text("utf-8")
        for row in csv.DictReader(text.splitlines()):
            found += _figures(document, row)
    return (*found, *_flows())


def _figures(document: str, row: Mapping[str, str]) -> Iterator[PublishedFigure]:
    """The figure of a row, and the latency beside it, which is the figure of another variant."""
    values = {name: text if name in _TEXTS else float(text) for name, text in row.items() if text}
    figure = PublishedFigure(**{"document": document, "variant": "", **values})  # type: ignore[arg-type]
    yield figure
    if figure.latency_ms is not None:
        yield replace(
            figure,
            variant=f"{figure.variant}{SINGLE_THREAD}",
            value=figure.latency_ms,
            unit="ms",
            metric="round_trip_latency",
            cpu_percent=None,
            clients=1,
            vs_direct_percent=None,
        )


def _flows() -> Iterator[PublishedFigure]:
    """What was measured of flows: rows are told apart by section, size and persistence."""
    places = _places()
    for row in published_rows():
        scenario, variant = places[row.section, row.size, row.persistent]
        yield PublishedFigure(
            scenario.document,
            scenario.name,
            variant,
            f"section {row.section}",
            row.test,
            row.rate,
            "msg/s",
            metric="flow_rate",
            cpu_percent=row.cpu_percent,
            cpu_ms=row.cpu_ms,
        )


def _places() -> dict[tuple[str, int, bool], tuple[Scenario, str]]:
    places: dict[tuple[str, int, bool], tuple[Scenario, str]] = {}
    for scenario in all_scenarios("message-broker"):
        for variant in scenario.variants:
            flow = scenario.flow(variant.name)
            # The first variant is as the document has it; later ones may have another database.
            places.setdefault((flow.section, flow.size, flow.persistent), (scenario, variant.name))
    return places
