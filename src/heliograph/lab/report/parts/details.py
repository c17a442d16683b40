"""Scenario by scenario: charts of curves, latencies, rates and CPU, with all targets beside each other."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from heliograph.lab.report.cases import Case
from heliograph.lab.report.charts.chart import Axis, Chart, Point, Series
from heliograph.lab.report.charts.thinning import shares, thinned
from heliograph.lab.report.document import Section
from heliograph.lab.report.figures import plain
from heliograph.lab.report.parts.curves import curve_charts
from heliograph.lab.report.results import Results

Subject = tuple[str, str, float]


def details(results: Results, cases: Sequence[Case], colours: Mapping[str, int]) -> Section:
    """A part for every scenario, variant and scale, with all its targets."""
    subjects: dict[Subject, list[Case]] = {}
    for case in cases:
        subjects.setdefault(case.subject, []).append(case)
    parts = tuple(_part(results, subject, group, colours) for subject, group in subjects.items())
    return Section("scenarios", "Scenario by scenario", parts=parts)


def slug(*words: object) -> str:
    """A name for an element or a file from any words."""
    return re.sub(r"[^a-z0-9]+", "-", " ".join(str(word) for word in words).lower()).strip("-")


def _part(results: Results, subject: Subject, cases: list[Case], colours: Mapping[str, int]) -> Section:
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


def _charts(results: Results, name: str, label: str, cases: list[Case], colours: Mapping[str, int]) -> Iterable[Chart]:
    yield from curve_charts(results, name, cases[0].run, colours)
    made = (
        Chart(
            f"{name}-distribution",
            f"{label}: latency distribution",
            "Latency distribution",
            "How many per cent of the messages took how long; the time axis is logarithmic.",
            Axis("latency", "ms", logarithmic=True),
            Axis("share of messages", "percent"),
            _series(cases, colours, lambda case: _distribution(results, case)),
            steps=True,
        ),
        Chart(
            f"{name}-rate",
            f"{label}: messages received over time",
            "Messages received over time",
            "Messages that were received in each second of the measured time.",
            Axis("second", "number"),
            Axis("messages/s", "rate"),
            _series(cases, colours, lambda case: _over_time(results, case, "received")),
            markers=False,
        ),
        Chart(
            f"{name}-cpu",
            f"{label}: CPU over time",
            "CPU of the system over time",
            "Cores that the system under test used in each second of the measured time.",
            Axis("second", "number"),
            Axis("cores", "number"),
            _series(cases, colours, lambda case: _over_time(results, case, "server_cpu_cores")),
            markers=False,
        ),
    )
    yield from (chart for chart in made if _shows_something(chart))


def _shows_something(chart: Chart) -> bool:
    """Whether there is a line that is not flat on the floor."""
    return any(len(series.points) > 1 and any(y for _, y in series.points) for series in chart.series)


def _series(
    cases: list[Case], colours: Mapping[str, int], points: Callable[[Case], tuple[Point, ...]]
) -> tuple[Series, ...]:
    found = [Series(case.run.target, points(case), colours[case.run.target]) for case in cases]
    return tuple(series for series in found if series.points)


def _distribution(results: Results, case: Case) -> tuple[Point, ...]:
    measures = case.measures
    rows = [
        row
        for row in results.of("distributions", case.run.run)
        if row.get("kind") == measures.latency_kind and row.get("group") == measures.latency.get("group")
    ]
    return shares([(float(row["bucket_ms"]), float(row["count"])) for row in rows])


def _over_time(results: Results, case: Case, key: str) -> tuple[Point, ...]:
    rows = results.of("timeline", case.run.run)
    return thinned(
        [(float(row["second"]), float(row[key])) for row in rows if row.get(key) is not None and row["second"] >= 0]
    )
