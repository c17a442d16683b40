"""A lane: the messages of one priority, in the order of arrival.

Theory of operation

1. Each message has a *place*, a number that does not change while it is in the lane. Taking a message leaves a hole at
its
   place, and giving it back fills the hole: a released message is exactly where it was.
2. `_slots[i]` has place `_base + i`. Before `_head` there are only holes, so taking from the front needs no search.
Holes
   at the front are cut off now and then, when at least half of the list is holes: so each slot is moved rarely.
3. *Stragglers* are messages whose place is before `_base`: given back after the cut, or left alone among thousands of
   holes. They are few, and are kept in a list sorted by place, which comes before all slots.
4. `count` is the number of messages in slots and stragglers together.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter

from heliograph.broker.queues.entry import WAITING, Entry

_WORTH_CUTTING = 1024
_MOSTLY_HOLES = 8
"""When the slots are so many times as many as the messages, all messages become stragglers."""

_place_of = attrgetter("place")


class Lane:
    """The messages of one priority: stragglers, and behind them entries by place."""

    __slots__ = ("_base", "_head", "_slots", "_stragglers", "count", "priority")

    def __init__(self, priority: int) -> None:
        self.priority = priority
        self.count = 0
        """Number of entries; the other slots are holes."""
        self._slots: list[Entry | None] = []
        self._base = 0
        self._head = 0
        self._stragglers: list[Entry] = []

    @property
    def end(self) -> int:
        """The place that the next entry gets."""
        return self._base + len(self._slots)

    def __iter__(self) -> Iterator[Entry]:
        """Iterate over a snapshot of the entries, in order."""
        yield from list(self._stragglers)
        yield from [entry for entry in self._slots[self._head :] if entry is not None]

    def first(self) -> Entry | None:
        """The entry at the front; None if there is none."""
        if self._stragglers:
            return self._stragglers[0]
        if not self.count:
            return None
        # There is an entry, as `count` is not 0 and there are no stragglers.
        while self._slots[self._head] is None:
            self._head += 1
        return self._slots[self._head]

    def append(self, entries: Sequence[Entry]) -> None:
        """Append entries at the end."""
        for place, entry in enumerate(entries, self._base + len(self._slots)):
            entry.place = place
            entry.state = WAITING
        self._slots += entries
        self.count += len(entries)

    def look(self, place: int, most: int) -> tuple[list[Entry], int]:
        """About `most` entries from a place on, and the place from which to look further; `end` if there is no more."""
        stragglers = self._stragglers
        if stragglers and place < self._base:
            at = bisect_left(stragglers, place, key=_place_of)
            some = stragglers[at : at + most]
            return some, some[-1].place + 1 if at + most < len(stragglers) else self._base
        at = max(place - self._base, self._head)
        found = [entry for entry in self._slots[at : at + most] if entry is not None]
        return found, min(self._base + at + most, self.end)

    def at(self, place: int) -> Entry | None:
        """The entry at a place; None if there is none."""
        if place >= self._base:
            return self._slots[place - self._base] if place < self.end else None
        at = bisect_left(self._stragglers, place, key=_place_of)
        found = self._stragglers[at] if at < len(self._stragglers) else None
        return found if found is not None and found.place == place else None

    def take(self, most: int) -> list[Entry]:
        """Take at most `most` entries from the front."""
        if self._stragglers:
            some = self._stragglers[:most]
            del self._stragglers[:most]
            self.count -= len(some)
            return some + self.take(most - len(some)) if len(some) < most else some
        number = min(most, self.count)
        slots, head = self._slots, self._head
        taken: list[Entry] = slots[head : head + number]  # type: ignore[assignment]
        at = head + number
        if None in taken:  # a fast search in C; there are no holes in most cases
            taken = [entry for entry in taken if entry is not None]
            while len(taken) < number:
                if (entry := slots[at]) is not None:
                    taken.append(entry)
                at += 1
        # Holes keep the places of all other entries; `_cut` removes them later.
        slots[head:at] = [None] * (at - head)
        self._head = at
        self.count -= number
        if at >= _WORTH_CUTTING or not self.count:
            self._cut()
        return taken

    def remove(self, entries: Sequence[Entry]) -> None:
        """Remove these entries, wherever they are."""
        slots, base = self._slots, self._base
        for entry in entries:
            if entry.place >= base:
                slots[entry.place - base] = None
            else:
                del self._stragglers[bisect_left(self._stragglers, entry.place, key=_place_of)]
        self.count -= len(entries)
        if not self.count or len(slots) - self._head > max(_WORTH_CUTTING, _MOSTLY_HOLES * self.count):
            self._leave_behind()

    def give_back(self, entries: Sequence[Entry]) -> None:
        """Put entries that were taken back to their places."""
        slots, base = self._slots, self._base
        late = []
        for entry in entries:
            entry.state = WAITING
            at = entry.place - base
            if at < 0:
                late.append(entry)
            else:
                slots[at] = entry
                self._head = min(self._head, at)
        # Their places were cut off while they were taken.
        if late:
            late.sort(key=_place_of)
            if not self._stragglers or self._stragglers[-1].place < late[0].place:  # the most frequent case
                self._stragglers += late
            else:
                self._stragglers = sorted(self._stragglers + late, key=_place_of)
        self.count += len(entries)

    def _cut(self) -> None:
        """Cut holes off the front if they are at least half of the slots: so the cost per message stays constant."""
        if not self.count:
            self._leave_behind()
        elif 2 * self._head >= len(self._slots):
            del self._slots[: self._head]
            self._base += self._head
            self._head = 0

    def _leave_behind(self) -> None:
        """Make all entries stragglers and drop the slots. Places of new entries go on behind them."""
        if self.count > len(self._stragglers):
            self._stragglers += [entry for entry in self._slots[self._head :] if entry is not None]
        self._base += len(self._slots)
        self._slots.clear()
        self._head = 0
