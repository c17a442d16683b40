"""Draws bars from left to right, with names above them: long names fit on a phone."""

from heliograph.lab.report.charts.chart import BarChart
from heliograph.lab.report.charts.drawing import COLOURS, WIDTH, framed, written
from heliograph.lab.report.charts.scale import scale_for
from heliograph.lab.report.charts.svg import element, words

_BAR, _GAP, _NAME, _HEAD, _VALUE = 13.0, 9.0, 15.0, 4.0, 58.0


def draw_bars(chart: BarChart) -> str:
    """The chart as an SVG element; its height follows from how many bars there are."""
    scale = scale_for([chart.most], 2, WIDTH - _VALUE, logarithmic=False, most=5)
    parts, y = [], _HEAD
    for name, bars in chart.groups:
        parts.append(words(name, 2, y + 11, class_="tick strong"))
        y += _NAME
        for bar in bars:
            end = scale.place(bar.value)
            style = f"bar mark s{bar.colour % COLOURS}"
            parts.append(element("rect", class_=style, x=2, y=y, width=max(end - 2, 1), height=_BAR - 2, rx=2))
            parts.append(words(written(chart.y, bar.value), end + 5, y + 9, class_="tick"))
            y += _BAR
        y += _GAP
    return framed(chart, y, *parts)
