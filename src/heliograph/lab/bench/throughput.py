"""Messages from publishers to subscribers as fast as an end-to-end window lets them go."""

import random
from dataclasses import dataclass, replace

from heliograph.lab.bench.bench_case import BenchCase, BenchOutcome, BrokerSite
from heliograph.lab.bench.closed_loop import ClosedLoop
from heliograph.lab.load.mqtt.connection import VERSIONS
from heliograph.lab.load.mqtt.packet_cycle import PacketCycle, marked_payload
from heliograph.lab.load.mqtt.repeating_publisher import RepeatingPublishers
from heliograph.lab.load.mqtt.repeating_subscriber import RepeatingSubscribers
from heliograph.lab.load.plan import Group, Plan, Protocol
from heliograph.mqtt import Properties, Publish, encode

DISK_BYTES = "disk bytes/delivery"


@dataclass(frozen=True, kw_only=True)
class Throughput(BenchCase):
    """`groups` times: every publisher of the group reaches every subscriber of the group."""

    groups: int = 1
    publishers: int = 1
    subscribers: int = 1
    sharers: int = 0  # of one shared subscription, instead of subscribers
    qos: int = 0
    window: int = 4000  # messages in flight per publisher; 1 also means one packet per read of the broker
    payload: tuple[int, int] = (32, 32)  # shortest and longest
    topics: int = 1  # per publisher
    from_version: Protocol = "mqtt311"
    to_version: Protocol = "mqtt311"
    user_properties: tuple[tuple[str, str], ...] = ()

    def measure(self, site: BrokerSite) -> BenchOutcome:
        """Warm up, measure while the load flows, then wait for what is in flight."""
        with ClosedLoop(site) as load:
            for group in range(self.groups):
                self._open_group(load, site, group)
            outcome = load.run(load.pump)
        return replace(outcome, figures={DISK_BYTES: outcome.written}) if self.durable else outcome

    def _open_group(self, load: ClosedLoop, site: BrokerSite, group: int) -> None:
        sending = [self._cycle(number, group, sent=True) for number in range(self.publishers)]
        arriving = [self._cycle(number, group, sent=False) for number in range(self.publishers)]
        one_topic = self.publishers == 1 and self.topics == 1
        subscribers = RepeatingSubscribers(
            _plan(
                Group(
                    f"subscriber-{group}",
                    "consume",
                    self.sharers or self.subscribers,
                    self.to_version,
                    site.transport,
                    filters=(self._topic(group, 0, 0) if one_topic else f"lab/{group:03}/#",),
                    qos=self.qos,
                    shared="lab" if self.sharers else "",
                    durable=self.durable,
                )
            ),
            0,
            site.address,
            load.loop.poller,
            arriving,
        )
        publishers = RepeatingPublishers(
            _plan(
                Group(
                    f"publisher-{group}",
                    "publish",
                    self.publishers,
                    self.from_version,
                    site.transport,
                    destination=f"lab/{group:03}",
                    qos=self.qos,
                    window=self.window,
                )
            ),
            0,
            site.address,
            load.loop.poller,
            sending,
        )
        load.loop.connect(subscribers)
        load.loop.connect(publishers)
        for number, publisher in enumerate(publishers.publishers):
            heard = subscribers.trackers[:1] if self.sharers else subscribers.trackers
            publisher.received_by = [trackers[number] for trackers in heard]
        load.add_receivers(subscribers)
        load.add_sources(publishers, publishers.publishers, 1 if self.sharers else self.subscribers)

    def _topic(self, group: int, publisher: int, topic: int) -> str:
        return f"lab/{group:03}/{publisher:03}/{topic:03}"

    def _cycle(self, publisher: int, group: int, *, sent: bool) -> PacketCycle:
        """What this publisher sends, or how it arrives: in the receiver's version and without packet identifiers."""
        version = VERSIONS[self.from_version if sent else self.to_version]
        chance = random.Random(f"{self.name} {publisher}")
        properties = Properties(user_property=list(self.user_properties)) if self.user_properties else Properties()
        packets = []
        for index in range(max(16, 2 * self.window + 2)):
            topic = self._topic(group, publisher, chance.randrange(self.topics))
            payload = marked_payload(publisher, index, chance.randint(*self.payload))
            identifier = index + 1 if sent else 0
            packet = Publish(topic, payload, self.qos, packet_id=identifier, properties=properties)
            packets.append(encode(packet, version))
        return PacketCycle(packets)


def _plan(group: Group) -> Plan:
    return Plan((group,), 1.0)
