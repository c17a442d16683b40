"""Draws ratios with their intervals, names above them, and a line where nothing differs."""

from heliograph.lab.report.charts.chart import IntervalChart
from heliograph.lab.report.charts.drawing import COLOURS, WIDTH, feet, framed
from heliograph.lab.report.charts.scale import Scale
from heliograph.lab.report.charts.svg import element, words

_ROW, _NAME, _HEAD, _FOOT, _SIDE = 30.0, 12.0, 4.0, 36.0, 16.0
_WIDEST = 1000.0  # an end of an interval that is farther away is drawn here


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
