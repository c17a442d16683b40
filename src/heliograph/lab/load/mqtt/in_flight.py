"""Packet identifiers of messages under way, and when each was sent."""

import numpy as np
from numpy.typing import NDArray

from heliograph.lab.load.histogram import Values

Ids = NDArray[np.int64]

_LAST = 65535


class InFlight:
    """What one client has sent with QoS 1 or 2 and not settled; identifiers are used in turn."""

    __slots__ = ("_next", "_sent_at", "_space", "count", "window")

    def __init__(self, window: int) -> None:
        self.window = min(window, _LAST)
        self._space = min(_LAST, max(2 * window, 16))
        self._sent_at = np.zeros(self._space + 1, np.int64)  # by identifier; 0: free
        self._next = 0  # one less than the next identifier
        self.count = 0

    def room(self) -> int:
        """How many more may be sent: what the window allows, or fewer if the next identifiers are still in use."""
        room = self.window - self.count
        if room <= 0 or not self.count:
            return max(0, room)
        used = np.flatnonzero(self._sent_at[self._ids(room)])
        return int(used[0]) if len(used) else room

    def _ids(self, count: int) -> Ids:
        return (np.arange(self._next, self._next + count, dtype=np.int64)) % self._space + 1

    def begin(self, count: int, now: int) -> Ids:
        """Identifiers for the next messages, which are sent now; not more than there is room for."""
        ids = self._ids(count)
        self._sent_at[ids] = now
        self._next = (self._next + count) % self._space
        self.count += count
        return ids

    def end(self, ids: Ids, now: int) -> Values:
        """These are settled: how long each took. What was not under way is left out."""
        if len(ids) > 1 and not bool((np.diff(ids) == 1).all()):
            ids = np.unique(ids)
        ids = ids[ids <= self._space]
        sent = self._sent_at[ids]
        known = sent > 0
        if not known.all():
            ids, sent = ids[known], sent[known]
        self._sent_at[ids] = 0
        self.count -= len(ids)
        return now - sent
