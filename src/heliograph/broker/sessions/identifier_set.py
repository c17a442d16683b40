"""Sets of packet identifiers, kept as ranges: clients use identifiers in order, so a thousand are often one range."""

from heliograph.log import Ranges
from heliograph.mqtt import Ids


class IdentifierSet(Ranges):
    """A set of packet identifiers, for example of QoS 2 messages that were received and not yet released (PUBREL)."""

    __slots__ = ()

    def add_all(self, ids: Ids) -> None:
        """Add identifiers; some may be there already."""
        if isinstance(ids, range):
            self.add(ids.start, ids.stop)
        else:
            for packet_id in ids:
                self.add(packet_id, packet_id + 1)

    def discard_all(self, ids: Ids) -> None:
        """Remove identifiers; some may not be there."""
        if isinstance(ids, range):
            self.remove(ids.start, ids.stop)
        else:
            for packet_id in ids:
                self.remove(packet_id, packet_id + 1)

    def known(self, ids: Ids) -> int:
        """How many of these identifiers are in the set."""
        if isinstance(ids, range):
            return self.within(ids.start, ids.stop) if self.count else 0
        return sum(packet_id in self for packet_id in set(ids))

    def numbers(self) -> list[int]:
        """All identifiers, in ascending order."""
        return [number for lo, hi in self for number in range(lo, hi)]
