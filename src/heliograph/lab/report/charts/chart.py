"""Charts before they are drawn: series between two axes, their numbers as a table, and a description in words."""

from dataclasses import dataclass
from itertools import pairwise
from math import floor, log10
from typing import Any

from heliograph.lab.report.table import Column, Table

Point = tuple[float, float]

_NONE = "The chart has no points."
_PER_DECADE = 12


@dataclass(frozen=True)
class Axis:
    """What one side of a chart counts; `kind` is how its numbers are written."""

    title: str
    kind: str = "number"
    logarithmic: bool = False


@dataclass(frozen=True)
class Series:
    """Points under one name. `colour` is its place in the palette; a dashed series was not measured here."""

    name: str
    points: tuple[Point, ...]
    colour: int = 0
    dashed: bool = False


@dataclass(frozen=True)
class Chart:
    """Lines over a numeric axis; with `steps` each point holds until the next one, as in a histogram.

    `title` says all of it; `caption` leaves out what the heading above it says already.
    """

    name: str
    title: str
    caption: str
    description: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    steps: bool = False
    markers: bool = True


@dataclass(frozen=True)
class Bar:
    """One bar of a group."""

    series: str
    value: float
    colour: int


@dataclass(frozen=True)
class BarChart:
    """Bars in groups, from left to right, groups below each other: for names instead of numbers on one axis.

    `most` is where the axis ends, the same for charts that are read together.
    """

    name: str
    title: str
    caption: str
    description: str
    y: Axis
    groups: tuple[tuple[str, tuple[Bar, ...]], ...]
    most: float


@dataclass(frozen=True)
class RatioInterval:
    """A ratio, and how sure it is."""

    name: str
    ratio: float
    low: float
    high: float
    colour: int


@dataclass(frozen=True)
class IntervalChart:
    """Ratios below each other on one logarithmic axis, where 1 is a line of its own. `keys` tells what colours mean."""

    name: str
    title: str
    caption: str
    description: str
    x: Axis
    intervals: tuple[RatioInterval, ...]
    keys: tuple[tuple[str, int], ...]


AnyChart = Chart | BarChart | IntervalChart


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


def thinned(points: list[Point], most: int = 180) -> tuple[Point, ...]:
    """Points over time, averaged by equal stretches if there are more than `most`."""
    ordered = sorted(points)
    if len(ordered) <= most:
        return tuple(ordered)
    edges = [round(number * len(ordered) / most) for number in range(most + 1)]
    return tuple(_mean(ordered[start:end]) for start, end in pairwise(edges))


def _mean(points: list[Point]) -> Point:
    return sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)


def shares(buckets: list[tuple[float, float]]) -> tuple[Point, ...]:
    """A histogram in per cent, in bins that grow with the value; each point stands at the lower end of its bin.

    Empty bins between full ones are kept, so that a gap is seen as one.
    """
    total = sum(count for _, count in buckets)
    bins: dict[int, float] = {}
    for value, count in buckets:
        if value > 0:
            number = _bin(value)
            bins[number] = bins.get(number, 0) + count
    if not bins or not total:
        return ()
    numbers = range(min(bins), max(bins) + 2)
    return tuple((10 ** (number / _PER_DECADE), 100 * bins.get(number, 0) / total) for number in numbers)


def _bin(value: float) -> int:
    return floor(_PER_DECADE * log10(value))
