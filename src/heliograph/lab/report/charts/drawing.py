"""Draws lines and histograms in the size of a phone, where one unit is about a pixel; wide screens have columns."""

import math
from collections.abc import Iterable
from html import escape
from itertools import pairwise

from heliograph.lab.report.charts.chart import AnyChart, Axis, Chart, Point, Series
from heliograph.lab.report.charts.scale import Scale, scale_for, span_for
from heliograph.lab.report.charts.svg import element, words
from heliograph.lab.report.figures import KINDS

WIDTH, HEIGHT = 360, 230
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 12, 40
COLOURS = 6
_LETTER = 6.2  # about the width of one
_FEW = 40  # points up to which each one gets a mark


def draw(chart: Chart) -> str:
    """The chart as an SVG element, with a title and a description for those who listen."""
    points = [point for series in chart.series for point in series.points]
    x = _across(chart.x, points)
    y = scale_for([value for _, value in points], HEIGHT - BOTTOM, TOP, logarithmic=chart.y.logarithmic, most=5)
    marks = [_series(chart, series, x, y) for series in chart.series]
    return framed(chart, HEIGHT, _grid(chart.y, y), _feet(chart.x, x), *marks)


def framed(chart: AnyChart, height: float, *inside: str) -> str:
    """An SVG element of this height with the chart's name and words."""
    title = element("title", escape(chart.title), id=f"{chart.name}-title")
    about = element("desc", escape(chart.description), id=f"{chart.name}-desc")
    return element(
        "svg",
        title,
        about,
        *inside,
        viewBox=f"0 0 {WIDTH} {height:.0f}",
        role="img",
        aria_labelledby=f"{chart.name}-title {chart.name}-desc",
    )


def written(axis: Axis, value: float) -> str:
    """A number of an axis for people."""
    return KINDS[axis.kind](value)


def _across(axis: Axis, points: list[Point]) -> Scale:
    values = [value for value, _ in points]
    return span_for(values, LEFT, WIDTH - RIGHT, logarithmic=axis.logarithmic)


def _grid(axis: Axis, scale: Scale) -> str:
    lines = []
    for value in scale.ticks(6):
        place = scale.place(value)
        lines.append(element("line", class_="grid", x1=LEFT, x2=WIDTH - RIGHT, y1=place, y2=place))
        lines.append(words(written(axis, value), LEFT - 5, place + 3.5, class_="tick", text_anchor="end"))
    return "".join(lines)


def _feet(axis: Axis, scale: Scale) -> str:
    floor = HEIGHT - BOTTOM
    return "".join(
        [
            element("line", class_="axis", x1=LEFT, x2=WIDTH - RIGHT, y1=floor, y2=floor),
            *feet(axis, scale, floor),
            words(axis.title, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 5, class_="name", text_anchor="middle"),
        ]
    )


def feet(axis: Axis, scale: Scale, floor: float) -> Iterable[str]:
    """Ticks along the bottom, with numbers that neither touch each other nor leave the picture."""
    free = 0.0
    for value in scale.ticks(6):
        place, text = scale.place(value), written(axis, value)
        half = len(text) * _LETTER / 2
        centre = min(max(place, half), WIDTH - half)
        yield element("line", class_="axis", x1=place, x2=place, y1=floor, y2=floor + 4)
        if centre - half >= free:
            yield words(text, centre, floor + 16, class_="tick", text_anchor="middle")
            free = centre + half + _LETTER


def _series(chart: Chart, series: Series, x: Scale, y: Scale) -> str:
    style = f"mark s{series.colour % COLOURS}" + (" dashed" if series.dashed else "")
    placed = [(x.place(one), y.place(other)) for one, other in series.points]
    if chart.steps:
        return _stairs(placed, style, y.start)
    parts = [element("polyline", class_=f"line {style}", points=_joined(placed))] if len(placed) > 1 else []
    if chart.markers and len(placed) <= _FEW:
        parts += [_dot(series.colour, *place, style) for place in placed]
    return "".join(parts)


def _stairs(placed: list[Point], style: str, floor: float) -> str:
    """An outline with a thin fill: two of them can be seen through each other."""
    if not placed:
        return ""
    widths = [after - before for (before, _), (after, _) in pairwise(placed)] or [8.0]
    outline = [(placed[0][0], floor)]
    for number, (left, top) in enumerate(placed):
        right = placed[number + 1][0] if number + 1 < len(placed) else min(left + widths[-1], WIDTH - RIGHT)
        outline += [(left, top), (right, top)]
    outline.append((outline[-1][0], floor))
    return element("polygon", class_=f"area {style}", points=_joined(outline))


def _joined(points: list[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points if math.isfinite(x) and math.isfinite(y))


def _dot(shape: int, x: float, y: float, style: str) -> str:
    """A mark whose shape tells the series, too, for those who see no colours."""
    if shape % 3 == 0:
        return element("circle", class_=f"dot {style}", cx=x, cy=y, r=3.2)
    if shape % 3 == 1:
        return element("rect", class_=f"dot {style}", x=x - 3, y=y - 3, width=6, height=6)
    return element("path", class_=f"dot {style}", d=f"M{x:.1f},{y - 4:.1f}l4,7h-8z")
