"""Things to do later, on a clock that is handed in."""

import heapq
from collections.abc import Callable


class Timers:
    """A heap of callbacks by time. There is no cancelling: a callback finds out by itself whether it still applies."""

    __slots__ = ("_heap", "_next")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Callable[[float], None]]] = []
        self._next = 0

    def at(self, when: float, action: Callable[[float], None]) -> None:
        """Call `action(now)` at the first `run` that is not before `when`."""
        self._next += 1
        heapq.heappush(self._heap, (when, self._next, action))

    def run(self, now: float) -> None:
        """Do everything that is due."""
        while self._heap and self._heap[0][0] <= now:
            heapq.heappop(self._heap)[2](now)
