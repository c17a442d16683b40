"""A durable subscription whose consumer is away: messages wait for it, and it takes them all when it comes back."""

import time
from collections.abc import Callable

from heliograph.lab import wire
from heliograph.lab.bench.case import Outcome, Site
from heliograph.lab.bench.closed_loop import QUIET_SECONDS, Load
from heliograph.lab.bytestream import BrokerGone
from heliograph.lab.link import Link
from heliograph.lab.publishers import Publisher
from heliograph.lab.ring import Ring
from heliograph.lab.subscribers import Acknowledging, Gathering, Subscriber

CONSUMER = "consumer"
FILTER = "lab/queue/#"
SILENCE_SECONDS = 10.0  # a broker that does nothing for so long has nothing more to do
# One publisher sends long runs. Of many, each waits for every acknowledgement, so that each read brings one packet.
WINDOW, RING = 4_000, 50_000
SINGLE_RING = 64
# A consumer that comes to read a little less often than it could gets runs, from a broker that writes singly, too.
NAP = 0.0002


class Absence:
    """The messages of one such subscription, all of QoS 1 and one length."""

    def __init__(self, messages: int, publishers: int, payload: int) -> None:
        self._each = -(-messages // publishers)
        self._publishers = publishers
        self._payload = payload
        self.messages = self._each * publishers
        # Made here, because both filling and draining are timed.
        self._sending, self._arriving = self._rings(sent=True), self._rings(sent=False)

    def fill(self, site: Site, watch: Callable[[], None]) -> None:
        """Make the subscription, leave, and publish everything; `watch` is called all the time."""
        consumer = Link(site.address, CONSUMER, durable=True)
        consumer.finish()
        consumer.subscribe(FILTER, 1)
        consumer.leave()
        with Load(site) as load:
            window = WINDOW if self._publishers == 1 else 1
            for number, ring in enumerate(self._sending):
                load.add_publisher(Publisher(load.open(f"p{number}"), ring, 1, window, []))
            while any(publisher.settled < self._each for publisher in load.publishers):
                for publisher in load.publishers:
                    if count := min(publisher.batch(), self._each - publisher.sent):
                        publisher.send(count)
                if not load.turn(SILENCE_SECONDS):
                    raise BrokerGone(f"it acknowledged nothing for {SILENCE_SECONDS:.0f} s")
                watch()

    def drain(self, site: Site, watch: Callable[[], None]) -> Outcome:
        """Come back and take what there is: what that cost, and what was lost, doubled or out of order."""
        before = site.meter.read()
        with Load(site) as load:
            reader = self._reader(load.open(CONSUMER, durable=True))
            load.add_subscriber(reader)
            while reader.received < self.messages and load.turn(SILENCE_SECONDS):
                watch()
                time.sleep(NAP)
            spent, received = site.meter.read().since(before), reader.received
            load.turn(QUIET_SECONDS)
        return Outcome(
            spent=spent,
            sent=0,
            delivered=received,
            lost=self.messages - received,
            duplicates=sum(tally.duplicates for tally in reader.tallies),
            strange=reader.strange,
            late=sum(tally.late for tally in reader.tallies),
        )

    def _reader(self, link: Link) -> Subscriber:
        rings = self._arriving
        return Acknowledging(link, rings[0], _topic(0), 1) if len(rings) == 1 else Gathering(link, rings, 1)

    def _rings(self, *, sent: bool) -> list[Ring]:
        """What publishers send, or how it arrives: without packet identifiers.

        A ring is shorter than the queue, so whole laps that are lost are seen by the number of messages alone.
        """
        shape, count = wire.Shape(qos=1), RING if self._publishers == 1 else SINGLE_RING
        return [
            Ring(
                [
                    shape.publish(
                        _topic(publisher),
                        wire.payload(publisher, index, self._payload),
                        packet_id=index + 1 if sent else 0,
                    )
                    for index in range(count)
                ]
            )
            for publisher in range(self._publishers)
        ]


def _topic(publisher: int) -> str:
    return f"lab/queue/{publisher:03}"
