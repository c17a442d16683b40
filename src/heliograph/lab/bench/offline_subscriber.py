"""A durable subscription whose client is away: messages wait for it, and it takes them all when it comes back."""

import time
from collections.abc import Callable

from heliograph.lab.bench.case import Outcome, Site
from heliograph.lab.bench.closed_loop import QUIET_SECONDS, Load
from heliograph.lab.errors import BrokerGone
from heliograph.lab.load.mqtt.packet_cycle import PacketCycle, marked_payload
from heliograph.lab.load.mqtt.repeating_publisher import RepeatingPublishers
from heliograph.lab.load.mqtt.repeating_subscriber import RepeatingSubscribers
from heliograph.lab.load.plan import Group, Plan
from heliograph.mqtt import Publish, encode

_VERSION = 4  # MQTT 3.1.1
FILTER = "lab/queue/#"
SILENCE_SECONDS = 10.0  # a broker that does nothing for so long has nothing more to do
# One publisher sends long runs. Of many, each waits for every acknowledgement, so that each read brings one packet.
WINDOW, CYCLE = 4_000, 50_000
SINGLE_CYCLE = 64
# A consumer that comes to read a little less often than it could gets runs, from a broker that writes singly, too.
NAP = 0.0002


class OfflineSubscriber:
    """Its messages, all of QoS 1 and one length."""

    def __init__(self, messages: int, publishers: int, payload: int) -> None:
        self._each = -(-messages // publishers)
        self._publishers = publishers
        self._payload = payload
        self.messages = self._each * publishers
        # Made here, because both filling and draining are timed.
        self._sending, self._arriving = self._cycles(sent=True), self._cycles(sent=False)

    def fill(self, site: Site, watch: Callable[[], None]) -> None:
        """Make the subscription, leave, and publish everything; `watch` is called all the time."""
        with Load(site) as load:
            subscribers = self._subscribers(load, site)
            load.loop.connect(subscribers)
            load.loop.leave(subscribers.subscribers)
            group = Group(
                "publisher",
                "publish",
                self._publishers,
                destination="lab/queue",
                qos=1,
                window=WINDOW if self._publishers == 1 else 1,
            )
            clients = RepeatingPublishers(Plan((group,), 1.0), 0, site.address, load.loop.poller, self._sending)
            load.loop.connect(clients)
            publishers = clients.publishers
            while any(publisher.settled < self._each for publisher in publishers):
                for publisher in publishers:
                    if count := min(publisher.batch(), self._each - publisher.sent):
                        publisher.send_next(count)
                if not load.loop.turn(SILENCE_SECONDS):
                    raise BrokerGone(f"it acknowledged nothing for {SILENCE_SECONDS:.0f} s")
                watch()

    def drain(self, site: Site, watch: Callable[[], None]) -> Outcome:
        """Come back and take what there is: what that cost, and what was lost, doubled or out of order."""
        before = site.meter.read()
        with Load(site) as load:
            subscribers = self._subscribers(load, site)
            subscribers.resume = True
            load.loop.connect(subscribers)
            [reader] = subscribers.subscribers
            load.add_receivers(subscribers)
            while reader.received < self.messages and load.loop.turn(SILENCE_SECONDS):
                watch()
                time.sleep(NAP)
            spent, received = site.meter.read().since(before), reader.received
            load.loop.turn(QUIET_SECONDS)
            subscribers.collect()
        return Outcome(
            spent=spent,
            sent=0,
            delivered=received,
            lost=self.messages - received,
            duplicates=subscribers.meter.duplicates,
            strange=load.strange,
            late=subscribers.meter.reordered,
        )

    def _subscribers(self, load: Load, site: Site) -> RepeatingSubscribers:
        group = Group("consumer", "consume", 1, filters=(FILTER,), qos=1, durable=True)
        return RepeatingSubscribers(Plan((group,), 1.0), 0, site.address, load.loop.poller, self._arriving)

    def _cycles(self, *, sent: bool) -> list[PacketCycle]:
        """What publishers send, or how it arrives: without packet identifiers.

        A cycle is shorter than the queue, so whole cycles that are lost are seen by the number of messages alone.
        """
        count = CYCLE if self._publishers == 1 else SINGLE_CYCLE
        return [
            PacketCycle([self._packet(publisher, index, index + 1 if sent else 0) for index in range(count)])
            for publisher in range(self._publishers)
        ]

    def _packet(self, publisher: int, index: int, identifier: int) -> bytes:
        payload = marked_payload(publisher, index, self._payload)
        return encode(Publish(f"lab/queue/{publisher:03}", payload, 1, packet_id=identifier), _VERSION)
