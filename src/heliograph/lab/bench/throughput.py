"""Messages from publishers to subscribers as fast as an end-to-end window lets them go."""

import random
from dataclasses import dataclass, replace

from heliograph.lab import wire
from heliograph.lab.bench.case import Case, Outcome, Site
from heliograph.lab.bench.closed_loop import Load
from heliograph.lab.link import Link
from heliograph.lab.publishers import Publisher
from heliograph.lab.ring import Ring
from heliograph.lab.subscribers import Acknowledging, Gathering, Stream, Subscriber

DISK_BYTES = "disk bytes/delivery"


@dataclass(frozen=True, kw_only=True)
class Flow(Case):
    """`groups` times: every publisher of the group reaches every subscriber of the group."""

    groups: int = 1
    publishers: int = 1
    subscribers: int = 1
    sharers: int = 0  # of one shared subscription, instead of subscribers
    qos: int = 0
    window: int = 4000  # messages on their way per publisher; 1 also means one packet per read of the broker
    payload: tuple[int, int] = (32, 32)  # shortest and longest
    topics: int = 1  # per publisher
    from_version: int = wire.V3
    to_version: int = wire.V3
    properties: bytes = b""

    def measure(self, site: Site) -> Outcome:
        """Warm up, measure while the load flows, then wait for what is on its way."""
        with Load(site) as load:
            for group in range(self.groups):
                self._open_group(load, group)
            outcome = load.run(load.pump)
        return replace(outcome, figures={DISK_BYTES: outcome.written}) if self.durable else outcome

    def _open_group(self, load: Load, group: int) -> None:
        sending = [self._ring(number, group, sent=True) for number in range(self.publishers)]
        arriving = [self._ring(number, group, sent=False) for number in range(self.publishers)]
        readers: list[Subscriber] = []
        for number in range(self.sharers or self.subscribers):
            link = load.open(f"s{group}-{number}", self.to_version, durable=self.durable)
            reader = self._subscriber(link, arriving, group)
            if self.sharers and readers:
                reader.tallies = readers[0].tallies  # it does not matter who gets a message, but that one of them does
            load.add_subscriber(reader)
            readers.append(reader)
        for number, ring in enumerate(sending):
            link = load.open(f"p{group}-{number}", self.from_version)
            tallies = [reader.tallies[number] for reader in (readers[:1] if self.sharers else readers)]
            load.add_publisher(Publisher(link, ring, self.qos, self.window, tallies))

    def _subscriber(self, link: Link, rings: list[Ring], group: int) -> Subscriber:
        one_topic = self.publishers == 1 and self.topics == 1
        topic_filter = self._topic(group, 0, 0) if one_topic else f"lab/{group:03}/#"
        link.subscribe(f"$share/lab/{topic_filter}" if self.sharers else topic_filter, self.qos)
        if self.publishers > 1:
            return Gathering(link, rings, self.qos)
        if self.qos:
            return Acknowledging(link, rings[0], self._topic(group, 0, 0), self.qos)
        return Stream(link, rings[0])

    def _topic(self, group: int, publisher: int, topic: int) -> str:
        return f"lab/{group:03}/{publisher:03}/{topic:03}"

    def _ring(self, publisher: int, group: int, *, sent: bool) -> Ring:
        """What this publisher sends, or how it arrives: in the receiver's version and without packet identifiers."""
        shape = wire.Shape(self.from_version if sent else self.to_version, self.qos, self.properties)
        chance = random.Random(f"{self.name} {publisher}")
        return Ring(
            [
                shape.publish(
                    self._topic(group, publisher, chance.randrange(self.topics)),
                    wire.payload(publisher, index, chance.randint(*self.payload)),
                    packet_id=index + 1 if sent else 0,
                )
                for index in range(max(16, 2 * self.window + 2))
            ]
        )
