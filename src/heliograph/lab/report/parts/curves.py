"""Curves over what grew from run to run: throughput over clients, rates over the fan-out."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from heliograph.lab.report.charts.chart import Axis, Chart, Point, Series
from heliograph.lab.report.results import Results, Run
from heliograph.lab.report.table import Row

_FAN_OUT = {"fan_out", "fanout", "consumers", "subscribers"}
_KINDS = (
    ("throughput", ("round_trips", "received_rate", "sent_rate"), Axis("messages/s", "rate")),
    ("latency", ("avg_ms", "p99_ms"), Axis("latency", "ms")),
    ("CPU of the system", ("server_cpu_cores",), Axis("cores")),
)
"""What curves are of, the figures that may show it, and how they are written."""
_NAMES = {"avg_ms": "AVG", "p99_ms": "99P", "sent_rate": "in", "received_rate": "out"}  # as seen from the system
_DECADE = 8  # how many times the least the greatest must be for a logarithmic axis


def curve_charts(results: Results, name: str, run: Run, colours: Mapping[str, int]) -> Iterable[Chart]:
    """The curves of a scenario and variant, a chart for each kind of figure over everything that grew."""
    rows = [
        row for row in results.every("curves") if (row["scenario"], row["variant"] or "") == (run.scenario, run.variant)
    ]
    for x_name in sorted({str(row["x_name"]) for row in rows}):
        same = [row for row in rows if row["x_name"] == x_name]
        for what, figures, axis in _KINDS:
            fans_out = x_name in _FAN_OUT and what == "throughput"
            lines = _series([row for row in same if row["y_name"] in _told(figures, same, fans_out)], colours)
            if len({x for line in lines for x, _ in line.points}) > 1:
                yield _chart(name, run, x_name, "fan-out curve" if fans_out else what, axis, lines)


def _told(figures: tuple[str, ...], rows: list[Row], fans_out: bool) -> tuple[str, ...]:
    """The first figure that there is; where messages are multiplied, what goes in as well as what comes out."""
    there = tuple(figure for figure in figures if any(row["y_name"] == figure for row in rows))
    return there if fans_out or figures[0].endswith("_ms") else there[:1]


def _chart(name: str, run: Run, x_name: str, what: str, y: Axis, series: tuple[Series, ...]) -> Chart:
    over = x_name.replace("_", " ")
    named = what if what == "fan-out curve" else f"{what} over {over}"
    places = [x for line in series for x, _ in line.points]
    heights = [height for line in series for _, height in line.points]
    return Chart(
        f"{name}-{what}-{x_name}".replace(" ", "-").replace("_", "-").lower(),
        f"{run.label}: {named}",
        named[0].upper() + named[1:],
        f"How the {what} changes with {over}, a line for each target.",
        Axis(over, "rate", logarithmic=_is_wide(places)),
        replace(y, logarithmic=what == "fan-out curve" and _is_wide(heights)),
        series,
    )


def _series(rows: list[Row], colours: Mapping[str, int]) -> tuple[Series, ...]:
    """A line per target and figure; where runs were repeated, through the mean of each place."""
    lines: dict[tuple[str, str], dict[float, list[float]]] = {}
    for row in rows:
        line = lines.setdefault((str(row["target"]), str(row["y_name"])), {})
        line.setdefault(float(row["x"]), []).append(float(row["y"]))
    several = len({y_name for _, y_name in lines}) > 1
    return tuple(
        Series(
            f"{target}, {_NAMES.get(y_name, y_name.replace('_', ' '))}" if several else target,
            tuple(_means(line)),
            colours.get(target, 0),
            dashed=y_name in {"sent_rate", "p99_ms"},
        )
        for (target, y_name), line in sorted(lines.items())
    )


def _means(line: dict[float, list[float]]) -> list[Point]:
    return [(x, sum(values) / len(values)) for x, values in sorted(line.items())]


def _is_wide(values: list[float]) -> bool:
    positive = [value for value in values if value > 0]
    return len(positive) == len(values) and bool(values) and max(values) > _DECADE * min(values)
