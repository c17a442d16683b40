"""Cases with a subscriber that is offline: millions of messages wait for it, are drained, or survive a crash.

`OfflineSubscriber` makes a durable subscription, leaves, fills it, and takes everything when it comes back. `Backlog`
measures the memory that the waiting messages take and the rate of draining; `Recovery` ends the broker in between.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from heliograph.lab.bench.bench_case import BenchCase, BenchOutcome, BrokerSite
from heliograph.lab.bench.closed_loop import QUIET_SECONDS, ClosedLoop
from heliograph.lab.errors import BrokerGone
from heliograph.lab.load.mqtt.packet_cycle import PacketCycle, marked_payload
from heliograph.lab.load.mqtt.repeating_publisher import RepeatingPublishers
from heliograph.lab.load.mqtt.repeating_subscriber import RepeatingSubscribers
from heliograph.lab.load.plan import Group, Plan
from heliograph.lab.probes.broker_meter import BrokerMeter
from heliograph.mqtt import Publish, encode

_VERSION = 4  # MQTT 3.1.1
FILTER = "lab/queue/#"
SILENCE_SECONDS = 10.0  # a broker that does nothing for so long has nothing more to do
# One publisher sends long runs. Of many, each waits for every acknowledgement, so that each read brings one packet.
WINDOW, CYCLE = 4_000, 50_000
SINGLE_CYCLE = 64
# A consumer that comes to read a little less often than it could gets runs, from a broker that writes singly, too.
NAP = 0.0002

RESIDENT = "MB resident"
LOOK_SECONDS = 0.1
SECONDS = "s to recover"


class OfflineSubscriber:
    """Its messages, all of QoS 1 and one length."""

    def __init__(self, messages: int, publishers: int, payload: int) -> None:
        self._each = -(-messages // publishers)
        self._publishers = publishers
        self._payload = payload
        self.messages = self._each * publishers
        # Made here, because both filling and draining are timed.
        self._sending, self._arriving = self._cycles(sent=True), self._cycles(sent=False)

    def fill(self, site: BrokerSite, watch: Callable[[], None]) -> None:
        """Make the subscription, leave, and publish everything; `watch` is called all the time."""
        with ClosedLoop(site) as load:
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

    def drain(self, site: BrokerSite, watch: Callable[[], None]) -> BenchOutcome:
        """Reconnect and receive everything; returns the cost, and what was lost, duplicated or out of order."""
        before = site.meter.read()
        with ClosedLoop(site) as load:
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
        return BenchOutcome(
            spent=spent,
            sent=0,
            delivered=received,
            lost=self.messages - received,
            duplicates=subscribers.meter.duplicates,
            unexpected=load.unexpected,
            late=subscribers.meter.reordered,
        )

    def _subscribers(self, load: ClosedLoop, site: BrokerSite) -> RepeatingSubscribers:
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


@dataclass(frozen=True, kw_only=True)
class Backlog(BenchCase):
    """Publish while the consumer is away; CPU and rate are those of draining."""

    messages: int
    payload: int = 100
    durable: bool = True

    def measure(self, site: BrokerSite) -> BenchOutcome:
        """Fill, then drain. Memory is the most that was seen at any time, not what is left at the end."""
        queue = OfflineSubscriber(site.messages(self.messages), 1, self.payload)
        peak = PeakMemory(site.meter)
        start = time.perf_counter()
        queue.fill(site, peak.look)
        filled = time.perf_counter() - start
        peak.look(at_once=True)
        outcome = queue.drain(site, peak.look)
        peak.look(at_once=True)
        return replace(
            outcome,
            figures={
                "messages": queue.messages,
                RESIDENT: peak.most / 1e6,
                "fill k msg/s": queue.messages / filled / 1e3,
                "drain k msg/s": outcome.rate_out / 1e3,
            },
        )


class PeakMemory:
    """The most memory that a broker was seen to have."""

    def __init__(self, meter: BrokerMeter) -> None:
        self.most = 0
        self._meter = meter
        self._next = 0.0

    def look(self, *, at_once: bool = False) -> None:
        """Sample the memory now and then; cheap enough to be called all the time."""
        now = time.perf_counter()
        if now >= self._next or at_once:
            self._next = now + LOOK_SECONDS
            self.most = max(self.most, self._meter.memory())


@dataclass(frozen=True, kw_only=True)
class Recovery(BenchCase):
    """Fill a queue, end the broker, start it again; CPU is that of the new process until it is ready, per message."""

    messages: int
    publishers: int = 1  # more than one also means one packet per read of the broker
    payload: int = 100
    durable: bool = True

    def measure(self, site: BrokerSite) -> BenchOutcome:
        """The time until a CONNECT is answered; then the consumer drains everything, which only counts."""
        queue = OfflineSubscriber(site.messages(self.messages), self.publishers, self.payload)
        queue.fill(site, _look_away)
        restart = site.restart()
        drained = queue.drain(replace(site, meter=restart.meter), _look_away)
        return replace(
            drained,
            spent=restart.spent,
            delivered=queue.messages,
            figures={"messages": queue.messages, SECONDS: restart.spent.wall},
        )


def _look_away() -> None:
    """The default: nothing is sampled meanwhile."""
