"""Sets of packet identifiers. Clients use them one after the other, so a thousand of them are one range."""

from heliograph.log import Ranges
from heliograph.mqtt import Ids


class IdentifierSet(Ranges):
    """Identifiers of QoS 2 messages, for example, that have been received and not been released."""

    __slots__ = ()

    def add_all(self, ids: Ids) -> None:
        """Put these in; those that are there already stay."""
        if isinstance(ids, range):
            self.add(ids.start, ids.stop)
        else:
            for packet_id in ids:
                self.add(packet_id, packet_id + 1)

    def discard_all(self, ids: Ids) -> None:
        """Take these out, as far as they are there."""
        if isinstance(ids, range):
            self.remove(ids.start, ids.stop)
        else:
            for packet_id in ids:
                self.remove(packet_id, packet_id + 1)

    def known(self, ids: Ids) -> int:
        """How many of these are there."""
        if isinstance(ids, range):
            return self.within(ids.start, ids.stop) if self.count else 0
        return sum(packet_id in self for packet_id in set(ids))

    def numbers(self) -> list[int]:
        """All of them, in order."""
        return [number for lo, hi in self for number in range(lo, hi)]
