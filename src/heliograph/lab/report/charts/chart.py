"""A chart before it is drawn: series of points between two axes, and words for those who do not see it."""

from dataclasses import dataclass

Point = tuple[float, float]


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
class Interval:
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
    intervals: tuple[Interval, ...]
    keys: tuple[tuple[str, int], ...]


AnyChart = Chart | BarChart | IntervalChart
