"""The ends of queues that put and get a fixed number of messages at a time, and wait until those are safe.

With a broker that knows transactions, that is a unit of work; with another it is a batch that has been confirmed.
"""

from collections.abc import Sequence

from heliograph.lab.amqp_client import Client
from heliograph.lab.queue_ends import Getter, Putter
from heliograph.lab.tally import Tally
from heliograph.lab.transfers import Template


class ConfirmedPutter(Putter):
    """Puts a batch and waits until the broker has accepted all of it."""

    def __init__(
        self, client: Client, message: bytes, number: int, window: int, commit: int, tallies: Sequence[Tally]
    ) -> None:
        super().__init__(client, Template(message, commit), number, window, commit, tallies)
        self._message = message
        self._commit = commit

    @property
    def _safe(self) -> int:
        return self.link.outlet.accepted

    @property
    def settled(self) -> int:
        """Messages that every receiver has got and that are safe."""
        return min([self._safe, *[tally.next for tally in self._tallies]])

    def batch(self) -> int:
        """One batch when the last one is safe and the window allows it."""
        return self._commit if self._safe == self.sent and super().batch() else 0


class TransactedPutter(ConfirmedPutter):
    """Puts a batch as one unit of work and waits for the commit."""

    @property
    def _safe(self) -> int:
        return self.link.units.committed * self._commit

    def batch(self) -> int:
        """Nothing before the next unit of work has begun."""
        return 0 if self.link.units.current is None else super().batch()

    def send(self, count: int) -> None:
        """Put a batch and ask for the commit."""
        units = self.link.units
        self._template = Template(self._message, count, units.current)
        super().send(count)
        self.link.write(units.commit())


class ConfirmedGetter(Getter):
    """Accepts a batch of messages at a time."""

    def __init__(self, client: Client, number: int, commit: int) -> None:
        super().__init__(client, number)
        self._commit = commit

    def _settle(self) -> None:
        inlet, frames = self.link.inlet, b""
        while inlet.unsettled >= self._commit:
            frames += inlet.settle(self._commit)
        if frames := frames + inlet.renew():
            self.link.write(frames)


class TransactedGetter(ConfirmedGetter):
    """Gets a batch of messages as one unit of work."""

    def _settle(self) -> None:
        inlet, units, frames = self.link.inlet, self.link.units, b""
        if units.current is not None and inlet.unsettled >= self._commit:
            frames = inlet.settle(self._commit, units.current) + units.commit()
        if frames := frames + inlet.renew():
            self.link.write(frames)
