"""Delayed and expiring messages of one queue."""

import heapq
from collections.abc import Callable, Iterable

from heliograph.broker.core.timers import Timer
from heliograph.broker.queues.entry import GONE, PENDING, Entry

_SWEEP_EVERY = 1000
"""Milliseconds between two sweeps. Expired messages are never delivered anyway; a sweep only frees memory."""
_GONE_WORTH_SWEEPING = 1000

Row = tuple[int, int, Entry]


class Timetable:
    """Two heaps by time: expiring and delayed messages, with one timer for both."""

    def __init__(self, set_timer: Callable[[int, Callable[[], None]], Timer], on_due: Callable[[], None]) -> None:
        """`set_timer(milliseconds since 1970, action)` sets a timer; `on_due` is called when something is due."""
        self._set_timer = set_timer
        self._on_due = on_due
        self._serial = 0
        self._expiring: list[Row] = []
        self._delayed: list[Row] = []
        self._timer_at = 0
        """When the timer is due; 0 if none is set."""
        self._swept_at = 0

    @property
    def delayed(self) -> int:
        """The number of delayed messages, including some that were purged."""
        return len(self._delayed)

    def add_expiring(self, entries: Iterable[Entry], depth: int) -> None:
        """Add messages that expire. `depth` is the number of messages in the queue."""
        heap = self._expiring
        if len(heap) > 2 * depth + _GONE_WORTH_SWEEPING:  # drop those that were consumed in time
            heap[:] = [row for row in heap if row[2].state != GONE]
            heapq.heapify(heap)
        for entry in entries:
            self._serial += 1
            heapq.heappush(heap, (entry.expires, self._serial, entry))
        self._arrange()

    def add_delayed(self, entries: Iterable[Entry]) -> None:
        """Add messages that become visible later."""
        for entry in entries:
            self._serial += 1
            heapq.heappush(self._delayed, (entry.deliver_at, self._serial, entry))
        self._arrange()

    def take_due(self, now: int, most: int) -> list[Entry]:
        """Take at most `most` delayed messages that are due."""
        due = _pop(self._delayed, now, most)
        return [entry for entry in due if entry.state == PENDING]

    def take_expired(self, now: int, most: int) -> list[Entry]:
        """Take at most `most` expired messages, whatever their state."""
        self._swept_at = now
        return _pop(self._expiring, now, most)

    def is_due(self, now: int) -> bool:
        """Whether more is due."""
        return any(heap and heap[0][0] <= now for heap in (self._delayed, self._expiring))

    def take_delayed(self, most: int) -> list[Entry]:
        """Take at most `most` delayed messages, to be purged."""
        taken: list[Entry] = []
        while self._delayed and len(taken) < most:
            entry = heapq.heappop(self._delayed)[2]
            if entry.state == PENDING:
                taken.append(entry)
        return taken

    def looked(self) -> None:
        """What was due has been handled: set the timer again."""
        self._timer_at = 0
        self._arrange()

    def _arrange(self) -> None:
        times = []
        if self._delayed:
            times.append(self._delayed[0][0])
        if self._expiring:
            times.append(max(self._expiring[0][0], self._swept_at + _SWEEP_EVERY))
        if times and (not self._timer_at or min(times) < self._timer_at):
            self._timer_at = min(times)
            self._set_timer(self._timer_at, self._on_due)


def _pop(heap: list[Row], now: int, most: int) -> list[Entry]:
    due: list[Entry] = []
    while heap and heap[0][0] <= now and len(due) < most:
        due.append(heapq.heappop(heap)[2])
    return due
