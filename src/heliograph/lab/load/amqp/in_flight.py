"""Deliveries under way and when each was sent: numbers ascend without end, and are settled by ranges."""

import numpy as np
from numpy.typing import NDArray

_LEAST = 256
_NUMBERS = 2**32
_NONE: NDArray[np.int64] = np.empty(0, np.int64)


class AmqpInFlight:
    """What one session has sent unsettled and not heard of; numbers are the wire's, but without the wrap."""

    __slots__ = ("_mask", "_oldest", "_sent_at", "_size", "count", "next", "window")

    def __init__(self, window: int) -> None:
        self.window = window
        self._size = max(_LEAST, 1 << (2 * window).bit_length())
        self._mask = self._size - 1
        self._sent_at = np.zeros(self._size, np.int64)  # by number modulo size; 0: settled or not ours
        self._oldest = 0  # nothing before this one is under way
        self.next = 0
        self.count = 0

    def room(self) -> int:
        """How many more may be sent: what the window allows, or fewer if a very old one is still not settled."""
        room = self.window - self.count
        if room > self._oldest + self._size - self.next:
            self._advance()
            room = min(room, self._oldest + self._size - self.next)
        return max(0, room)

    def _advance(self) -> None:
        if not self.count:
            self._oldest = self.next
            return
        places = np.arange(self._oldest, self.next) & self._mask
        self._oldest += int(np.argmax(self._sent_at[places] > 0))

    def skip(self, count: int = 1) -> int:
        """The first of so many numbers, for deliveries whose way is not followed here."""
        first = self.next
        self.next += count
        return first

    def begin(self, count: int, now: int) -> int:
        """The first of so many numbers of deliveries that are sent now; not more than there is room for."""
        first = self.next
        start = first & self._mask
        if count == 1:
            self._sent_at[start] = now
        elif start + count <= self._size:
            self._sent_at[start : start + count] = now
        else:
            self._sent_at[np.arange(first, first + count) & self._mask] = now
        self.next = first + count
        self.count += count
        return first

    def end(self, first: int, last: int, now: int) -> NDArray[np.int64]:
        """This range (numbers of the wire) is settled: how long each took. What was not under way is left out."""
        back = (self.next - first) % _NUMBERS
        start = self.next - back
        behind = min(start + (last - first) % _NUMBERS + 1, self.next)
        if back > self._size or start < 0:
            return _NONE
        place = start & self._mask
        size = behind - start
        if size == 1:
            return self._end_one(place, now)
        if place + size <= self._size:
            sent = self._sent_at[place : place + size]
            if sent.all():
                took: NDArray[np.int64] = now - sent
                sent[:] = 0
                self.count -= size
                return took
        places = np.arange(start, behind) & self._mask
        places = places[self._sent_at[places] > 0]
        took = now - self._sent_at[places]
        self._sent_at[places] = 0
        self.count -= len(places)
        return took

    def _end_one(self, place: int, now: int) -> NDArray[np.int64]:
        sent = int(self._sent_at[place])
        if not sent:
            return _NONE
        self._sent_at[place] = 0
        self.count -= 1
        return np.array([now - sent])
