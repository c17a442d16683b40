"""Scenario by scenario: charts of curves, latencies, rates and CPU, with all targets side by side."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from heliograph.lab.report.charts.chart import Axis, Chart, Point, Series, shares, thinned
from heliograph.lab.report.document import Section
from heliograph.lab.report.report_cases import ReportCase
from heliograph.lab.report.results import RecordedRun, Results
from heliograph.lab.report.table import TableRow, plain

_FAN_OUT = {"fan_out", "fanout", "consumers", "subscribers"}
_KINDS = (
    ("throughput", ("round_trips", "received_rate", "sent_rate"), Axis("messages/s", "rate")),
    ("latency", ("avg_ms", "p99_ms"), Axis("latency", "ms")),
    ("CPU of the system", ("server_cpu_cores",), Axis("cores")),
)
"""Kinds of curves: name, the figures that may be shown, and the axis."""
_NAMES = {"avg_ms": "AVG", "p99_ms": "99P", "sent_rate": "in", "received_rate": "out"}  # as seen from the system
_DECADE = 8  # how many times the least the greatest must be for a logarithmic axis

Subject = tuple[str, str, float]


def curve_charts(results: Results, name: str, run: RecordedRun, colours: Mapping[str, int]) -> Iterable[Chart]:
    """The curves of a scenario and variant, a chart for each kind of figure over everything that grew."""
    rows = [
        row for row in results.every("curves") if (row["scenario"], row["variant"] or "") == (run.scenario, run.variant)
    ]
    for x_name in sorted({str(row["x_name"]) for row in rows}):
        same = [row for row in rows if row["x_name"] == x_name]
        for what, figures, axis in _KINDS:
            fans_out = x_name in _FAN_OUT and what == "throughput"
            lines = _curve_series([row for row in same if row["y_name"] in _told(figures, same, fans_out)], colours)
            if len({x for line in lines for x, _ in line.points}) > 1:
                yield _curve_chart(name, run, x_name, "fan-out curve" if fans_out else what, axis, lines)


def _told(figures: tuple[str, ...], rows: list[TableRow], fans_out: bool) -> tuple[str, ...]:
    """The first of these figures that was measured; where messages are multiplied, and for latencies, all of them."""
    there = tuple(figure for figure in figures if any(row["y_name"] == figure for row in rows))
    return there if fans_out or figures[0].endswith("_ms") else there[:1]


def _curve_chart(name: str, run: RecordedRun, x_name: str, what: str, y: Axis, series: tuple[Series, ...]) -> Chart:
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


def _curve_series(rows: list[TableRow], colours: Mapping[str, int]) -> tuple[Series, ...]:
    """A line per target and figure, through the mean of repeated runs."""
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


_OVER_TIME = (
    (
        "rate",
        "received",
        "messages received over time",
        "Messages received over time",
        "Messages that were received in each second of the measured time.",
        Axis("messages/s", "rate"),
    ),
    (
        "cpu",
        "server_cpu_cores",
        "CPU over time",
        "CPU of the system over time",
        "Cores that the system under test used in each second of the measured time.",
        Axis("cores", "number"),
    ),
)
"""Charts over time: name, column of the timeline, title, caption, description, and axis."""


def details(results: Results, cases: Sequence[ReportCase], colours: Mapping[str, int]) -> Section:
    """A part for every scenario, variant and scale, with all its targets."""
    subjects: dict[Subject, list[ReportCase]] = {}
    for case in cases:
        subjects.setdefault(case.subject, []).append(case)
    parts = tuple(_part(results, subject, group, colours) for subject, group in subjects.items())
    return Section("scenarios", "Scenario by scenario", parts=parts)


def slug(*words: object) -> str:
    """A name for an element or a file from any words."""
    return re.sub(r"[^a-z0-9]+", "-", " ".join(str(word) for word in words).lower()).strip("-")


def _part(results: Results, subject: Subject, cases: list[ReportCase], colours: Mapping[str, int]) -> Section:
    scenario, variant, scale = subject
    name = slug(scenario, variant, plain(scale))
    about = results.known.about(scenario).title
    label = f"{scenario} {variant}".strip()
    return Section(
        name,
        label,
        paragraphs=(f"{about}{'.' if about and not about.endswith('.') else ''} Scale {plain(scale)}.".strip(),),
        charts=tuple(_charts(results, name, label, cases, colours)),
    )


def _charts(
    results: Results, name: str, label: str, cases: list[ReportCase], colours: Mapping[str, int]
) -> Iterable[Chart]:
    yield from curve_charts(results, name, cases[0].run, colours)
    made = (
        Chart(
            f"{name}-distribution",
            f"{label}: latency distribution",
            "Latency distribution",
            "The share of messages by latency, in per cent; the time axis is logarithmic.",
            Axis("latency", "ms", logarithmic=True),
            Axis("share of messages", "percent"),
            _series(cases, colours, lambda case: _distribution(results, case)),
            steps=True,
        ),
        *(
            Chart(
                f"{name}-{what}",
                f"{label}: {title}",
                caption,
                about,
                Axis("second", "number"),
                y,
                _series(cases, colours, partial(_over_time, results, key)),
                markers=False,
            )
            for what, key, title, caption, about, y in _OVER_TIME
        ),
    )
    yield from (chart for chart in made if _shows_something(chart))


def _shows_something(chart: Chart) -> bool:
    """Whether any line has several points, not all of them zero."""
    return any(len(series.points) > 1 and any(y for _, y in series.points) for series in chart.series)


def _series(
    cases: list[ReportCase], colours: Mapping[str, int], points: Callable[[ReportCase], tuple[Point, ...]]
) -> tuple[Series, ...]:
    found = [Series(case.run.target, points(case), colours[case.run.target]) for case in cases]
    return tuple(series for series in found if series.points)


def _distribution(results: Results, case: ReportCase) -> tuple[Point, ...]:
    measures = case.measures
    rows = [
        row
        for row in results.of("distributions", case.run.run)
        if row.get("kind") == measures.latency_kind and row.get("group") == measures.latency.get("group")
    ]
    return shares([(float(row["bucket_ms"]), float(row["count"])) for row in rows])


def _over_time(results: Results, key: str, case: ReportCase) -> tuple[Point, ...]:
    rows = results.of("timeline", case.run.run)
    return thinned(
        [(float(row["second"]), float(row[key])) for row in rows if row.get(key) is not None and row["second"] >= 0]
    )
