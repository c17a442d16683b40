"""Draws charts as SVG: lines, histograms, bars and intervals.

Sizes are those of a phone, where one unit is about a pixel; wide screens show charts in columns.
"""

import math
from collections.abc import Iterable
from html import escape
from itertools import pairwise

from heliograph.lab.report.charts.chart import AnyChart, Axis, BarChart, Chart, IntervalChart, Point, Series
from heliograph.lab.report.charts.scale import Scale, scale_for, span_for
from heliograph.lab.report.table import KINDS

WIDTH, HEIGHT = 360, 230
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 12, 40
COLOURS = 6
_LETTER = 6.2  # about the width of one
_FEW = 40  # points up to which each one gets a mark
_BAR, _BAR_GAP, _BAR_NAME, _BAR_HEAD, _BAR_VALUE = 13.0, 9.0, 15.0, 4.0, 58.0
_ROW, _NAME, _HEAD, _FOOT, _SIDE = 30.0, 12.0, 4.0, 36.0, 16.0
_WIDEST = 1000.0  # an end of an interval that is farther away is drawn here


def element(name: str, *inside: str, **attributes: object) -> str:
    """One element; an attribute's `_` is written `-`, and one at its end left out (`class_`)."""
    named = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{named}>{''.join(inside)}</{name}>" if inside else f"<{name}{named}/>"


def words(content: str, x: float, y: float, **attributes: object) -> str:
    """Text at a place."""
    return element("text", escape(content), x=x, y=y, **attributes)


def _text(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


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


def draw_bars(chart: BarChart) -> str:
    """The chart as an SVG element; its height follows from how many bars there are."""
    scale = scale_for([chart.most], 2, WIDTH - _BAR_VALUE, logarithmic=False, most=5)
    parts, y = [], _BAR_HEAD
    for name, bars in chart.groups:
        parts.append(words(name, 2, y + 11, class_="tick strong"))
        y += _BAR_NAME
        for bar in bars:
            end = scale.place(bar.value)
            style = f"bar mark s{bar.colour % COLOURS}"
            parts.append(element("rect", class_=style, x=2, y=y, width=max(end - 2, 1), height=_BAR - 2, rx=2))
            parts.append(words(written(chart.y, bar.value), end + 5, y + 9, class_="tick"))
            y += _BAR
        y += _BAR_GAP
    return framed(chart, y, *parts)


def draw_intervals(chart: IntervalChart) -> str:
    """The chart as an SVG element; its height follows from how many ratios there are."""
    ends = [min(max(end, 1 / _WIDEST), _WIDEST) for one in chart.intervals for end in (one.low, one.high, one.ratio)]
    low, high = min([*ends, 0.8]), max([*ends, 1.25])
    scale = Scale(low, high, _SIDE, WIDTH - _SIDE, logarithmic=True)
    floor = _HEAD + _ROW * len(chart.intervals)
    same = scale.place(1)
    parts = []
    for number, one in enumerate(chart.intervals):
        y = _HEAD + _ROW * number
        style = f"mark s{one.colour % COLOURS}"
        middle = y + _NAME + 8
        start, end = (min(max(scale.place(value), _SIDE), WIDTH - _SIDE) for value in (one.low, one.high))
        parts += [
            element("line", class_="axis", x1=same, x2=same, y1=y + _NAME + 2, y2=y + _ROW),
            words(one.name, 2, y + _NAME - 1, class_="tick strong"),
            element("rect", class_=f"bar {style}", x=start, y=middle - 1.5, width=max(end - start, 1.0), height=3),
            element("circle", class_=f"dot {style}", cx=scale.place(one.ratio), cy=middle, r=4.5),
        ]
    parts.append(element("line", class_="axis", x1=_SIDE, x2=WIDTH - _SIDE, y1=floor, y2=floor))
    parts += feet(chart.x, scale, floor)
    parts.append(words(chart.x.title, WIDTH / 2, floor + _FOOT - 5, class_="name", text_anchor="middle"))
    return framed(chart, floor + _FOOT, *parts)
