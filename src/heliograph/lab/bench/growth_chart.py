"""The chart of CPU per message by size, from the results of `helio bench --case 'growth*' --json RESULTS`."""

import json
from pathlib import Path
from typing import Any

from heliograph.lab.bench.growth import GROWTH, MESSAGE
from heliograph.lab.errors import InvalidResults
from heliograph.lab.report.charts.chart import Axis, Chart, Series
from heliograph.lab.report.charts.drawing import HEIGHT, WIDTH, draw, element, words
from heliograph.lab.targets.heliograph_server import Heliograph

_TITLE = "CPU of the server per message, by how many there are of what it looks after"
_LINE = 16
_IN_A_LINE = 3
# What a page of the lab has in its style sheet; this picture stands for itself, on paper of its own.
_COLOURS = ("#2468b4", "#d0660f", "#168259", "#8347b0", "#bd3030", "#667085")
_STYLE = (
    "text{fill:#586474;font:11px system-ui,sans-serif}.grid{stroke:#d9dee6}.axis{stroke:#586474}"
    ".line{fill:none;stroke-width:1.8}.dot{stroke:none}"
    + "".join(
        f".line.s{at}{{stroke:{colour}}}.dot.s{at},text.s{at}{{fill:{colour}}}" for at, colour in enumerate(_COLOURS)
    )
)


def growth_chart(rows: list[dict[str, Any]]) -> Chart:
    """A line for each case that was measured on our server."""
    names = [case.name for case in GROWTH]
    figures = {row["case"]: row["median_figures"] for row in rows if row["target"] == Heliograph.name}
    series = [
        Series(name.removeprefix("growth-"), _points(figures[name]), colour)
        for colour, name in enumerate(names)
        if name in figures
    ]
    said = "; ".join(f"{one.name}: " + ", ".join(f"{y:.3g} at {x:,.0f}" for x, y in one.points) for one in series)
    across, up = Axis("µs of CPU per message, by how many there are", "rate", logarithmic=True), Axis("µs")
    return Chart("growth", _TITLE, _TITLE, f"µs per message. {said}", across, up, tuple(series))


def _points(figures: dict[str, float]) -> tuple[tuple[float, float], ...]:
    before = f"{MESSAGE} at "
    return tuple(
        sorted(
            (float(name.removeprefix(before).replace(",", "")), value)
            for name, value in figures.items()
            if name.startswith(before)
        )
    )


def standing_alone(chart: Chart) -> str:
    """The chart as a file of its own, with names of its lines below it."""
    keys = [
        words(
            f"\N{BLACK CIRCLE} {one.name}",
            10.0 + at % _IN_A_LINE * WIDTH / _IN_A_LINE,
            HEIGHT + _LINE * (1 + at // _IN_A_LINE),
            class_=f"s{one.colour}",
        )
        for at, one in enumerate(chart.series)
    ]
    height = HEIGHT + _LINE * (2 + (len(keys) - 1) // _IN_A_LINE)
    paper = element("rect", width=WIDTH, height=height, fill="#ffffff")
    inside = draw(chart).partition(">")[2].removesuffix("</svg>")
    return element(
        "svg",
        element("style", _STYLE),
        paper,
        inside,
        *keys,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height}",
        width=2 * WIDTH,
        role="img",
        aria_labelledby=f"{chart.name}-title {chart.name}-desc",
    )


def write_chart(results: Path, chart: Path) -> None:
    """Read results, draw."""
    try:
        rows = json.loads(results.read_text())["rows"]
    except (ValueError, KeyError, TypeError):
        raise InvalidResults(f"{results} is not what `helio bench --json` writes") from None
    chart.write_text(standing_alone(growth_chart(rows)) + "\n")
