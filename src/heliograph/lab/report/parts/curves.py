"""Curves over what grew from run to run: throughput over clients, rates over the fan-out."""

from collections.abc import Iterable, Mapping

from heliograph.lab.report.charts.chart import Axis, Chart, Point, Series
from heliograph.lab.report.results import Results, Run
from heliograph.lab.report.table import Row

_FAN_OUT = {"fan_out", "fanout", "consumers", "subscribers"}
_NAMES = {"sent_rate": "in", "received_rate": "out"}  # as seen from the system
_DECADE = 8  # how many times the least the greatest must be for a logarithmic axis


def curve_charts(results: Results, name: str, run: Run, colours: Mapping[str, int]) -> Iterable[Chart]:
    """The curves of a scenario and variant, one chart for everything that grew; nothing where one point is all."""
    rows = [
        row for row in results.every("curves") if (row["scenario"], row["variant"] or "") == (run.scenario, run.variant)
    ]
    for x_name in sorted({str(row["x_name"]) for row in rows}):
        same = [row for row in rows if row["x_name"] == x_name]
        rates = [row for row in same if not str(row["y_name"]).endswith("_ms")]
        waits = [row for row in same if str(row["y_name"]).endswith("_ms")]
        for part, kind in ((rates, "rate"), (waits, "ms")):
            chart = _chart(name, run, x_name, part, kind, colours)
            if chart:
                yield chart


def _chart(name: str, run: Run, x_name: str, rows: list[Row], kind: str, colours: Mapping[str, int]) -> Chart | None:
    series = _series(rows, colours)
    places = [x for one in series for x, _ in one.points]
    if len(set(places)) < 2:
        return None
    what = "latency" if kind == "ms" else "fan-out curve" if x_name in _FAN_OUT else "throughput"
    over = x_name.replace("_", " ")
    named = what if what == "fan-out curve" else f"{what} over {over}"
    heights = [y for one in series for _, y in one.points if y > 0]
    return Chart(
        f"{name}-{what}-{x_name}".replace(" ", "-").replace("_", "-"),
        f"{run.label}: {named}",
        named.capitalize(),
        f"How the {what} changes with {over}, a line for each target.",
        Axis(over, "rate", logarithmic=_is_wide(places)),
        Axis(
            "latency" if kind == "ms" else "messages/s", kind, logarithmic=what == "fan-out curve" and _is_wide(heights)
        ),
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
            dashed=y_name.startswith("sent"),
        )
        for (target, y_name), line in sorted(lines.items())
    )


def _means(line: dict[float, list[float]]) -> list[Point]:
    return [(x, sum(values) / len(values)) for x, values in sorted(line.items())]


def _is_wide(values: list[float]) -> bool:
    positive = [value for value in values if value > 0]
    return len(positive) == len(values) and bool(values) and max(values) > _DECADE * min(values)
