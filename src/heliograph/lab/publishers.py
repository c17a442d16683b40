"""The sending end of a load: sends stretches of its ring, as far as the end-to-end window allows."""

from collections.abc import Sequence

from heliograph.lab import wire
from heliograph.lab.link import Link
from heliograph.lab.ring import Ring
from heliograph.lab.tally import Tally


class Publisher:
    """One publisher whose messages go to every one of `tallies`; above QoS 0 there may be none, as they can wait.

    It never has more than `window` messages on their way to the slowest receiver (or unacknowledged), so no
    broker's drop policy comes into play. It sends a quarter of the window at a time: as a pipelining client does,
    whose socket buffer fills while the broker is busy.
    """

    def __init__(self, link: Link, ring: Ring, qos: int, window: int, tallies: Sequence[Tally]) -> None:
        self.link = link
        self.sent = 0
        self.strange = 0  # packets that are not the acknowledgements due next
        self._ring = ring
        self._position = 0  # in the ring, in bytes
        self._window = window
        self._batch = max(1, window // 4)
        self._tallies = tallies
        self._kept = b""
        # The acknowledgements that must come, in the order that the standard prescribes.
        self._due = {kind: Ring(wire.acks(kind, ring.count)) for kind in _ACKNOWLEDGEMENTS[qos]}
        self._counts = dict.fromkeys(self._due, 0)

    @property
    def settled(self) -> int:
        """Messages that every receiver has got and, above QoS 0, the broker has acknowledged."""
        return min([tally.next for tally in self._tallies] + list(self._counts.values()))

    @property
    def room(self) -> int:
        """How many messages the window allows now."""
        return 0 if self.link.blocked else self.settled + self._window - self.sent

    @property
    def lost(self) -> int:
        """Deliveries that have not arrived: final once the load has drained."""
        return sum(self.sent - tally.received for tally in self._tallies)

    def batch(self) -> int:
        """How many messages to send now: none until the window has opened far enough."""
        room = self.room
        return room if room >= self._batch else 0

    def send(self, count: int) -> None:
        """Send the next messages; no more than there is room for."""
        self.sent += count
        end = self._ring.byte_at(self.sent)
        self.link.write(self._ring.slice(self._position, end - self._position))
        self._position = end

    def read(self) -> None:
        """Take acknowledgements, which all have four bytes; answer PUBREC by PUBREL."""
        data = self._kept + bytes(self.link.receive())
        whole = len(data) - len(data) % 4
        self._kept = data[whole:]
        start = 0
        while start < whole:
            end = _same_kind(data, start, whole)
            self._take_run(data[start:end])
            start = end

    def _take_run(self, run: bytes) -> None:
        kind, count = run[0], len(run) // 4
        due = self._due.get(kind)
        if due is None or not due.continues(run, 4 * self._counts[kind]):
            self.strange += count
        if due is not None:
            self._counts[kind] += count
        if kind == wire.PUBREC:
            self.link.write(wire.answer_run(wire.PUBREL, run))


_ACKNOWLEDGEMENTS = {0: (), 1: (wire.PUBACK,), 2: (wire.PUBREC, wire.PUBCOMP)}


def _same_kind(data: bytes, start: int, whole: int) -> int:
    """Where the run of acknowledgements that starts at `start` gives way to another kind."""
    kinds = data[start:whole:4]
    return start + 4 * (len(kinds) - len(kinds.lstrip(kinds[:1])))
