"""Which deliveries of a session are not settled yet, as runs: a thousand messages sent at once are one entry."""

from bisect import bisect_right
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from heliograph.amqp.engine.link import Link


class Run(NamedTuple):
    """Deliveries `first` to `last` (identifiers as on the wire, but never wrapping) of one link.

    Their numbers, by which the owner knows them, are higher by `shift`.
    """

    first: int
    last: int
    link: "Link"
    shift: int


_run = partial(tuple.__new__, Run)  # the same as `Run`, without a Python function in between


def _first_id(run: Run) -> int:
    return run.first


def _first_number(run: Run) -> int:
    return run.first + run.shift


class Unsettled:
    """Runs in the order in which they were sent."""

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: list[Run] = []

    def __len__(self) -> int:
        return len(self._runs)

    def add(self, first: int, last: int, link: "Link", shift: int) -> None:
        """Note a run; it lies behind all others."""
        runs = self._runs
        if runs:
            start, end, its_link, its_shift = runs[-1]
            if end + 1 == first and its_link is link and its_shift == shift:
                runs[-1] = _run((start, last, link, shift))
                return
        runs.append(_run((first, last, link, shift)))

    def within(self, first: int, last: int) -> list[Run]:
        """The parts of runs with identifiers from `first` to `last`."""
        runs = self._runs
        at = max(bisect_right(runs, first, key=_first_id) - 1, 0)
        found = []
        for place in range(at, len(runs)):
            run = runs[place]
            if run.first > last:
                break
            if run.last >= first:
                found.append(Run(max(first, run.first), min(last, run.last), run.link, run.shift))
        return found

    def take(self, first: int, last: int) -> list[Run]:
        """Like `within`, and they are forgotten."""
        runs = self._runs
        if not runs:
            return []
        start, end, link, shift = runs[0]
        if start == first and last <= end:  # the oldest first, which is what nearly all are
            if last == end:
                del runs[0]
            else:
                runs[0] = _run((last + 1, end, link, shift))
            return [_run((first, last, link, shift))]
        at = bisect_right(runs, first, key=_first_id) - 1
        if at < 0 or runs[at].last < first:
            at += 1
        end = at
        found = []
        kept = []
        while end < len(runs) and runs[end].first <= last:
            run = runs[end]
            low, high = max(first, run.first), min(last, run.last)
            found.append(Run(low, high, run.link, run.shift))
            if run.first < low:
                kept.append(Run(run.first, low - 1, run.link, run.shift))
            if high < run.last:
                kept.append(Run(high + 1, run.last, run.link, run.shift))
            end += 1
        runs[at:end] = kept
        return found

    def take_numbers(self, first: int, last: int) -> list[Run]:
        """Like `take`, by numbers."""
        runs = self._runs
        at = max(bisect_right(runs, first, key=_first_number) - 1, 0)
        ranges = []
        for place in range(at, len(runs)):
            run = runs[place]
            if run.first + run.shift > last:
                break
            low, high = max(first - run.shift, run.first), min(last - run.shift, run.last)
            if low <= high:
                ranges.append((low, high))
        return [run for low, high in ranges for run in self.take(low, high)]

    def forget(self, link: "Link") -> None:
        """The link is gone, and what it had unsettled."""
        if self._runs:
            self._runs = [run for run in self._runs if run.link is not link]
