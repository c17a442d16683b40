"""The ends of queues under load: who puts, who gets, and who answers requests."""

from collections.abc import Sequence

from heliograph.lab.amqp_client import Client
from heliograph.lab.tally import Tally
from heliograph.lab.timing import Timing
from heliograph.lab.transfers import Template


class Putter:
    """Puts messages that every one of `tallies` is to see; never more than `window` on their way.

    It sends `batch` of them at the least: as a pipelining client does, whose socket buffer fills while the broker is
    busy.
    """

    def __init__(
        self, client: Client, template: Template, number: int, window: int, batch: int, tallies: Sequence[Tally]
    ) -> None:
        self.link = client
        self.timing = Timing()
        self._template = template
        self._number = number
        self._window = window
        self._batch = batch
        self._tallies = tallies

    @property
    def sent(self) -> int:
        """Messages so far."""
        return self.link.outlet.sent

    @property
    def settled(self) -> int:
        """Messages that every receiver has got and the broker has accepted."""
        return min([self.link.outlet.accepted, *[tally.next for tally in self._tallies]])

    @property
    def lost(self) -> int:
        """Deliveries that have not arrived: final once the load has drained."""
        return sum(self.sent - tally.received for tally in self._tallies)

    @property
    def strange(self) -> int:
        """What the broker did not accept, and frames that have no place."""
        return self.link.outlet.refused + self.link.strange

    def batch(self) -> int:
        """How many messages to send now: none until the window has opened far enough."""
        room = min(self.settled + self._window - self.sent, self.link.outlet.room(self._template))
        return room if room >= self._batch else 0

    def send(self, count: int) -> None:
        """Put the next messages."""
        self.link.outlet.send(self._template, self._number, count)
        self.timing.sent(self.sent)

    def read(self) -> None:
        """Take what the broker says about them."""
        self.link.read()


class Getter:
    """Gets messages of one putter and accepts them, all that one read has brought at once."""

    def __init__(self, client: Client, number: int) -> None:
        self.link = client
        self.timing: Timing | None = None  # the putter's, where times are taken
        client.inlet.publisher = number
        self.tallies = [client.inlet.tally]

    @property
    def received(self) -> int:
        """Distinct messages that have arrived."""
        return self.tallies[0].received

    @property
    def strange(self) -> int:
        """Messages of others."""
        return self.link.inlet.strange

    def read(self) -> None:
        """Take what has arrived."""
        tally = self.tallies[0]
        first = tally.next
        self.link.read()
        if self.timing is not None:
            self.timing.arrived(first, tally.next)
        self._settle()

    def _settle(self) -> None:
        inlet = self.link.inlet
        if frames := inlet.settle() + inlet.renew():
            self.link.write(frames)


class Responder(Getter):
    """Gets requests and puts one answer for each."""

    def __init__(self, client: Client, template: Template, number: int) -> None:
        super().__init__(client, number)
        self._template = template
        self._number = number

    @property
    def strange(self) -> int:
        """Messages of others, answers that the broker did not accept, and frames that have no place."""
        return self.link.inlet.strange + self.link.outlet.refused + self.link.strange

    def read(self) -> None:
        """Answer what has arrived, as far as the broker takes answers now; the rest when it gives credit again."""
        link = self.link
        link.read()
        due = min(link.inlet.count - link.outlet.sent, link.outlet.room(self._template))
        if due > 0:
            link.outlet.send(self._template, self._number, due)
        self._settle()
