"""The numbers of a chart as a table: for those who cannot see it, and for programs."""

from typing import Any

from heliograph.lab.report.charts.chart import AnyChart, BarChart, Chart, IntervalChart
from heliograph.lab.report.table import Column, Table

_NONE = "The chart has no points."


def chart_table(chart: AnyChart) -> Table:
    """A row for each place on the axis of names or numbers, a column for each series."""
    if isinstance(chart, IntervalChart):
        return _intervals(chart)
    return _bars(chart) if isinstance(chart, BarChart) else _lines(chart)


def _lines(chart: Chart) -> Table:
    rows: dict[float, dict[str, Any]] = {}
    for series in chart.series:
        for x, y in series.points:
            rows.setdefault(x, {"x": x})[series.name] = y
    columns = (
        Column("x", chart.x.title, chart.x.kind),
        *(Column(series.name, series.name, chart.y.kind) for series in chart.series),
    )
    return Table(chart.name, chart.title, columns, tuple(rows[x] for x in sorted(rows)), _NONE)


def _bars(chart: BarChart) -> Table:
    names = dict.fromkeys(bar.series for _, bars in chart.groups for bar in bars)
    rows = tuple({"name": name, **{bar.series: bar.value for bar in bars}} for name, bars in chart.groups)
    columns = (Column("name", "name"), *(Column(name, name, chart.y.kind) for name in names))
    return Table(chart.name, chart.title, columns, rows, _NONE)


def _intervals(chart: IntervalChart) -> Table:
    columns = (Column("name", "name"), *(Column(key, key, chart.x.kind) for key in ("ratio", "low", "high")))
    rows = tuple({"name": one.name, "ratio": one.ratio, "low": one.low, "high": one.high} for one in chart.intervals)
    return Table(chart.name, chart.title, columns, rows, _NONE)
