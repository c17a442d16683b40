"""Sets of whole numbers, stored as ranges: memory grows with the gaps, not with the numbers.

Theory of operation

1. Two lists of equal length, `_starts` and `_ends`: range i has the numbers from `_starts[i]` up to, but without,
   `_ends[i]`. Both lists ascend, and ranges neither overlap nor touch, so every set has one representation.
2. Two lists instead of one of pairs, so that `bisect` searches them without a key function.
3. Nearly all uses are in order: adding next to the last range, removing or taking from the first. These cases come
first
   in each method and need no search.
4. `count` is kept up to date: the size of a backlog is asked for more often than it changes.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

_NONE: list[int] = ()  # type: ignore[assignment]  # a tuple, as all empty sets share it
"""Most sets of a server are empty, and there may be millions of them: sharing saves two lists for each."""


class Ranges:
    """Numbers as ranges from `lo` up to, but without, `hi`; apart from each other and in order."""

    __slots__ = ("_ends", "_starts", "count")

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self._starts = self._ends = _NONE
        self.count = 0
        """How many numbers there are."""
        for lo, hi in ranges:
            self.add(lo, hi)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._starts, self._ends, strict=True)

    def __len__(self) -> int:
        """How many ranges there are."""
        return len(self._starts)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._starts, number) - 1
        return at >= 0 and number < self._ends[at]

    @property
    def first(self) -> int:
        """The smallest number; there must be one."""
        return self._starts[0]

    def add(self, lo: int, hi: int) -> None:
        """Add the numbers from `lo` up to `hi`; some may be there already."""
        if lo >= hi:
            return
        starts, ends = self._starts, self._ends
        if not ends:
            self._starts, self._ends, self.count = [lo], [hi], hi - lo
            return
        if lo == ends[-1]:  # the most frequent case: the next numbers
            ends[-1] = hi
            self.count += hi - lo
            return
        # All ranges that overlap or touch the new one are replaced by one.
        left = bisect_left(ends, lo)
        right = bisect_right(starts, hi)
        before = sum(ends[left:right]) - sum(starts[left:right])
        if left < right:
            lo, hi = min(lo, starts[left]), max(hi, ends[right - 1])
        starts[left:right] = [lo]
        ends[left:right] = [hi]
        self.count += hi - lo - before

    def remove(self, lo: int, hi: int) -> int:
        """Remove the numbers from `lo` up to `hi`. Returns how many of them were there."""
        starts, ends = self._starts, self._ends
        if len(starts) == 1 and lo <= starts[0] and ends[0] <= hi:  # the most frequent case: everything
            gone, self.count = self.count, 0
            self._starts = self._ends = _NONE
            return gone
        left = bisect_right(ends, lo)
        right = bisect_left(starts, hi)
        if left >= right or lo >= hi:
            return 0
        before = sum(ends[left:right]) - sum(starts[left:right])
        # Of the first and the last range that overlap, a part may stay.
        kept = [(starts[left], lo)] if starts[left] < lo else []
        if ends[right - 1] > hi:
            kept.append((hi, ends[right - 1]))
        starts[left:right] = [start for start, _ in kept]
        ends[left:right] = [end for _, end in kept]
        gone = before - sum(end - start for start, end in kept)
        self.count -= gone
        if not starts:
            self._starts = self._ends = _NONE
        return gone

    def take(self, most: int) -> tuple[int, int]:
        """Remove and return the smallest numbers that are in one range, `most` at most."""
        lo, hi = self._starts[0], self._ends[0]
        if hi - lo > most:
            hi = lo + most
            self._starts[0] = hi
        elif len(self._starts) == 1:
            self._starts = self._ends = _NONE
        else:
            del self._starts[0], self._ends[0]
        self.count -= hi - lo
        return lo, hi

    def end_of(self, number: int) -> int:
        """The end of the range that a number is in; the number itself if it is in none."""
        at = bisect_right(self._starts, number) - 1
        return max(number, self._ends[at]) if at >= 0 else number

    def gaps(self, lo: int, hi: int) -> Iterator[tuple[int, int]]:
        """The numbers from `lo` up to `hi` that are not in the set, as ranges."""
        left, right = bisect_right(self._ends, lo), bisect_left(self._starts, hi)
        for start, end in zip(self._starts[left:right], self._ends[left:right], strict=True):
            if lo < start:
                yield lo, start
            lo = end
        if lo < hi:
            yield lo, hi

    def within(self, lo: int, hi: int) -> int:
        """How many numbers there are from `lo` up to `hi`."""
        left, right = bisect_right(self._ends, lo), bisect_left(self._starts, hi)
        pairs = zip(self._starts[left:right], self._ends[left:right], strict=True)
        return sum(min(end, hi) - max(start, lo) for start, end in pairs)
