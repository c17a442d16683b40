"""A lane: the messages of one priority, in the order that they came.

Each message has a *place*, a number that never changes while it is in the lane. Whoever takes a message leaves a hole
at its place, and giving it back fills the hole, so that a message that comes back is exactly where it was. Holes at the
front are cut off now and then.
"""

from collections.abc import Iterator, Sequence
from operator import attrgetter

from heliograph.broker.queues.entry import WAITING, Entry

_WORTH_CUTTING = 1024
_place_of = attrgetter("place")


class Lane:
    """Entries by place: that of `slots[0]` is `base`, and there are only holes before the index `head`."""

    __slots__ = ("base", "count", "head", "priority", "slots")

    def __init__(self, priority: int) -> None:
        self.priority = priority
        self.slots: list[Entry | None] = []
        self.base = 0
        self.head = 0
        self.count = 0
        """Entries that are there; the rest are holes."""

    @property
    def first(self) -> int:
        """No entry has a place before this one."""
        return self.base + self.head

    @property
    def end(self) -> int:
        """The place that the next one gets."""
        return self.base + len(self.slots)

    def __iter__(self) -> Iterator[Entry]:
        """Entries in order; the lane may change meanwhile, of which the iteration learns nothing."""
        return (entry for entry in self.slots[self.head :] if entry is not None)

    def append(self, entries: Sequence[Entry]) -> None:
        """Let entries wait behind all others."""
        place = self.base + len(self.slots)
        for place, entry in enumerate(entries, place):  # noqa: B020  (where it starts)
            entry.place = place
            entry.state = WAITING
        self.slots += entries
        self.count += len(entries)

    def take(self, most: int) -> list[Entry]:
        """Take entries from the front, at most so many."""
        number = min(most, self.count)
        slots, head = self.slots, self.head
        taken: list[Entry] = slots[head : head + number]  # type: ignore[assignment]
        at = head + number
        if None in taken:  # comparing identities, at the speed of C
            taken = [entry for entry in taken if entry is not None]
            while len(taken) < number:
                if (entry := slots[at]) is not None:
                    taken.append(entry)
                at += 1
        slots[head:at] = [None] * (at - head)
        self.head = at
        self.count -= number
        if at >= _WORTH_CUTTING or not self.count:
            self._cut()
        return taken

    def _cut(self) -> None:
        """Cut holes off the front, but only if that is not much work for what it gains."""
        if not self.count:
            self.base += len(self.slots)
            self.slots.clear()
            self.head = 0
        elif 2 * self.head >= len(self.slots):
            del self.slots[: self.head]
            self.base += self.head
            self.head = 0

    def remove(self, entries: Sequence[Entry]) -> None:
        """Take these entries, wherever they are. Nobody may be on the way through `slots`."""
        slots, base = self.slots, self.base
        for entry in entries:
            slots[entry.place - base] = None
        self.count -= len(entries)
        if not self.count:
            self._cut()

    def give_back(self, entries: Sequence[Entry]) -> None:
        """Put entries that were taken where they were."""
        low = min(map(_place_of, entries))
        if low < self.base:
            self.slots[:0] = [None] * (self.base - low)
            self.base, self.head = low, 0
        slots, base = self.slots, self.base
        missing = max(map(_place_of, entries)) - base + 1 - len(slots)
        if missing > 0:
            slots += [None] * missing
        for entry in entries:
            slots[entry.place - base] = entry
            entry.state = WAITING
        self.head = min(self.head, low - base)
        self.count += len(entries)
