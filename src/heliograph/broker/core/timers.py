"""The broker's clocks, and timers."""

import heapq
from collections.abc import Callable

from heliograph.broker.core.defects import Defects
from heliograph.broker.core.outlet import Outlet

Action = Callable[[float], None]
Timer = list[float | Action | Outlet | None]
"""[when, serial number, action, client]; without an action once it is cancelled or done."""

_CANCELLED_WORTH_SWEEPING = 1000


class Clock:
    """Converts between the broker's monotonic clock and wall time, which the log needs: it outlives the process."""

    def __init__(self, now: Callable[[], float], wall: Callable[[], float]) -> None:
        self.now = now
        self.wall = wall

    def to_wall(self, when: float) -> int:
        """A time of the broker's clock as milliseconds since 1970."""
        return round((when - self.now() + self.wall()) * 1000)

    def from_wall(self, milliseconds: int) -> float:
        """Milliseconds since 1970 as a time of the broker's clock."""
        return milliseconds / 1000 - self.wall() + self.now()


class Timers:
    """A heap of callbacks by time. Cancelled ones stay in it until they are due or many: removing one would be slow."""

    __slots__ = ("_cancelled", "_defects", "_heap", "_serial")

    def __init__(self, defects: Defects) -> None:
        self._defects = defects
        self._heap: list[Timer] = []
        self._serial = 0
        self._cancelled = 0

    def __len__(self) -> int:
        return len(self._heap)

    def at(self, when: float, action: Action, outlet: Outlet | None = None) -> Timer:
        """Call `action(now)` in the first `run` at or after `when`. If it raises, the client of `outlet` is blamed."""
        self._serial += 1
        timer: Timer = [when, self._serial, action, outlet]
        heapq.heappush(self._heap, timer)
        return timer

    def rings_by(self, when: float, timer: Timer) -> bool:
        """Whether this timer is still due, at `when` at the latest."""
        return timer[2] is not None and timer[0] <= when  # type: ignore[operator]

    def cancel(self, timer: Timer | None) -> None:
        """Cancel a timer. One that is done or cancelled already is left alone."""
        if timer is None or timer[2] is None:
            return
        timer[2] = None
        self._cancelled += 1
        # Clients that connect and disconnect often must not fill the heap with timers that are due in hours.
        if self._cancelled > _CANCELLED_WORTH_SWEEPING and self._cancelled > len(self._heap) // 2:
            self._heap = [timer for timer in self._heap if timer[2] is not None]
            heapq.heapify(self._heap)
            self._cancelled = 0

    def run(self, now: float, has_time: Callable[[], bool] = lambda: True) -> bool:
        """Call everything that is due, or as much as there is time for. Returns whether there is more.

        An action that raises does not keep others from being called.
        """
        while self._heap and self._heap[0][0] <= now:  # type: ignore[operator]
            timer = heapq.heappop(self._heap)
            action, timer[2] = timer[2], None
            if action is None:
                self._cancelled -= 1
            else:
                try:
                    action(now)  # type: ignore[operator]
                except Exception:
                    self._defects.note("a timer", timer[3])  # type: ignore[arg-type]
                if not has_time():
                    return bool(self._heap) and self._heap[0][0] <= now  # type: ignore[operator]
        return False
