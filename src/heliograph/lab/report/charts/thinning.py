"""Fewer points where a screen cannot show more."""

from itertools import pairwise
from math import floor, log10

from heliograph.lab.report.charts.chart import Point

_PER_DECADE = 12


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
