"""Latencies in log-linear histograms: 256 buckets for every power of two, so a value is known within 1/256.

Values are nanoseconds. A bucket is named by the greatest value in it: with sh = max(0, floor(log2 v) - 8) that is
((v >> sh) << sh) + (1 << sh) - 1. Two histograms are merged by adding their counts.
"""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

# The eleven bits of a double's exponent and the eight after it are the number of a bucket, for all integers that a
# double holds exactly (2^53 ns are a hundred days). Numbers start at that of 1.
_SHIFT = 52 - 8
_FIRST = 1023 << 8
_SLOTS = 54 << 8

# Values are gathered and counted by the thousand: counting has a price per call, whatever the number of values.
_GATHER = 8192

Values = NDArray[np.int64]


def _bounds() -> Values:
    """The greatest value of each slot."""
    slots = np.arange(_SLOTS, dtype=np.int64)
    shift = np.maximum(0, (slots >> 8) - 8)
    lowest = ((slots + _FIRST) << _SHIFT).view(np.float64).astype(np.int64)
    bounds: Values = lowest + (np.int64(1) << shift) - 1
    return bounds


_BOUNDS = _bounds()


@dataclass(frozen=True)
class Histogram:
    """How many values were in which bucket, and what can be known exactly."""

    counts: dict[int, int] = field(default_factory=dict)  # by the greatest value of the bucket, ascending
    count: int = 0
    min_ns: int = 0
    max_ns: int = 0
    sum_ns: int = 0
    sum_squares: float = 0.0

    def __add__(self, other: Self) -> "Histogram":
        """Both together."""
        if not self.count or not other.count:
            return self if self.count else other
        counts = dict(self.counts)
        for bucket, count in other.counts.items():
            counts[bucket] = counts.get(bucket, 0) + count
        return Histogram(
            dict(sorted(counts.items())),
            self.count + other.count,
            min(self.min_ns, other.min_ns),
            max(self.max_ns, other.max_ns),
            self.sum_ns + other.sum_ns,
            self.sum_squares + other.sum_squares,
        )

    @property
    def mean(self) -> float:
        """The average, in ns; 0 without values."""
        return self.sum_ns / self.count if self.count else 0.0

    def percentile(self, percent: float) -> int:
        """The least value that so many percent do not exceed, as its bucket says, in ns; 0 without values."""
        rank = max(1, -(-self.count * percent // 100))
        for bucket, count in self.counts.items():
            rank -= count
            if rank <= 0:
                return min(bucket, self.max_ns)
        return self.max_ns


def bucket_of(values: Values) -> Values:
    """The bucket of each value; what is not positive counts as 1 ns."""
    bounds: Values = _BOUNDS[_slots_of(values.astype(np.float64))]
    return bounds


def _slots_of(values: NDArray[np.float64]) -> Values:
    np.maximum(values, 1.0, out=values)
    slots: Values = (values.view(np.int64) >> _SHIFT) - _FIRST
    return slots


class Recorder:
    """Takes values as they come, one or many at a time, and gives a histogram of them at the end of an interval."""

    __slots__ = ("_counts", "_filled", "_gathered", "_max", "_min", "_squares", "_sum", "count")

    def __init__(self) -> None:
        self._gathered = np.empty(_GATHER, np.int64)
        self._reset()

    def _reset(self) -> None:
        self._filled = 0
        self.count = 0
        self._counts: Values | None = None
        self._min, self._max = 2**63 - 1, 0
        self._sum, self._squares = 0, 0.0

    def record(self, value: int) -> None:
        """Take one value."""
        if self._filled == _GATHER:
            self._count_gathered()
        self._gathered[self._filled] = value
        self._filled += 1

    def record_all(self, values: Values) -> None:
        """Take these values; they may be changed afterwards."""
        size = len(values)
        if self._filled + size > _GATHER:
            self._count_gathered()
            if size > _GATHER // 2:
                self._count(values)
                return
        self._gathered[self._filled : self._filled + size] = values
        self._filled += size

    def take(self) -> Histogram | None:
        """What was recorded since the last call; None if that is nothing."""
        self._count_gathered()
        if self._counts is None:
            return None
        used = np.flatnonzero(self._counts)
        counts = dict(zip(_BOUNDS[used].tolist(), self._counts[used].tolist(), strict=True))
        made = Histogram(counts, self.count, self._min, self._max, self._sum, self._squares)
        self._reset()
        return made

    def _count_gathered(self) -> None:
        if self._filled:
            filled, self._filled = self._filled, 0
            self._count(self._gathered[:filled])

    def _count(self, values: Values) -> None:
        self.count += len(values)
        self._min = min(self._min, int(values.min()))
        self._max = max(self._max, int(values.max()))
        self._sum += int(values.sum())
        numbers = values.astype(np.float64)
        self._squares += float(np.dot(numbers, numbers))
        counts = np.bincount(_slots_of(numbers), minlength=_SLOTS)
        self._counts = counts if self._counts is None else self._counts + counts
