"""The watchdog of the event loop: how long its turns take, and who is to blame if one takes too long.

A turn must be short, because all clients wait for its end. To cost nothing, the watchdog measures nothing within a
turn: code that may take long leaves a *mark*, connections know when they were last read from, and only after a long
turn are these used to find out what took the time.
"""

import logging
from collections.abc import Callable, Iterator
from itertools import pairwise
from time import monotonic
from typing import Any

log = logging.getLogger(__name__)

SLOW = 0.1
"""Seconds from which on a turn is logged."""
_QUIET = 10.0
"""Seconds between two lines in the log at least."""

_MARKS_MOST = 64

Facts = dict[str, Any]
Mark = tuple[float, Callable[[], Facts]]
"""When some work began, and a function that describes it; called only if the turn was long."""


class Watchdog:
    """Keeps the longest turns. The loop calls `look` at the end of each turn that was not short."""

    def __init__(self) -> None:
        self.longest = 0.0
        """The longest turn since the start, in seconds."""
        self.longest_cpu = 0.0
        """The most processor time of a turn since the start, in seconds: what others on the machine do counts less."""
        self.longest_cpu_by: Facts = {}
        self.slow_turns = 0
        self.marks: list[Mark] = []
        """Of the present turn, and of earlier ones."""
        self.readings: Callable[[], Iterator[Mark]] = lambda: iter(())
        """Clients that have been read from in the present turn."""
        self._since_scrape = 0.0
        self._logged_at = 0.0
        self._unlogged = 0

    def mark(self, facts: Callable[[], Facts]) -> None:
        """Note that work begins that may take long."""
        if len(self.marks) >= _MARKS_MOST:
            del self.marks[: _MARKS_MOST // 2]
        self.marks.append((monotonic(), facts))

    def look(self, began: float, ended: float, cpu: float) -> None:
        """A turn has not been short; `cpu` is its processor time."""
        lag = ended - began
        self.longest = max(self.longest, lag)
        self._since_scrape = max(self._since_scrape, lag)
        if cpu > self.longest_cpu:
            self.longest_cpu = cpu
            self.longest_cpu_by = self._culprit(began, ended)
        if lag >= SLOW:
            self.slow_turns += 1
            self._tell(began, ended, cpu)

    def scrape(self) -> float:
        """The longest turn since this was asked last, in seconds."""
        longest, self._since_scrape = self._since_scrape, 0.0
        return longest

    def _tell(self, began: float, ended: float, cpu: float) -> None:
        if ended - self._logged_at < _QUIET:
            self._unlogged += 1
            return
        self._logged_at = ended
        facts: Facts = {"seconds": round(ended - began, 3), "cpu_seconds": round(cpu, 3)}
        if self._unlogged:
            facts["others_not_logged"] = self._unlogged
            self._unlogged = 0
        log.warning("slow turn of the event loop: all clients waited", extra=facts | self._culprit(began, ended))

    def _culprit(self, began: float, ended: float) -> Facts:
        """The work that took most of the time of a turn."""
        marks = [mark for mark in (*self.marks, *self.readings()) if mark[0] >= began]
        marks = sorted([*marks, (ended, _nobody)], key=lambda mark: mark[0])
        taken = [(end - start, facts) for (start, facts), (end, _) in pairwise(marks)]
        return max(taken, key=lambda one: one[0], default=(0.0, _nobody))[1]()


def _nobody() -> Facts:
    return {"what": "unknown"}
