"""What a broker's cost is when it has ten times and a hundred times as much to look after: memory, restarts, messages.

Each case makes things of one kind up to each of some sizes, and looks at the broker at each of them.
"""

import time
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace

from heliograph.lab import wire
from heliograph.lab.amqp_client import Client
from heliograph.lab.bench.case import Case, Outcome, Site
from heliograph.lab.bench.closed_loop import Load
from heliograph.lab.bench.queue_throughput import enter
from heliograph.lab.bytestream import Address, BrokerGone, ByteStream
from heliograph.lab.link import Link
from heliograph.lab.probes.meter import Reading
from heliograph.lab.queue_ends import Putter
from heliograph.lab.transfers import Template, body

SIZES = (10_000, 100_000, 1_000_000)
QUEUE_SIZES = (200, 2_000, 20_000)
EACH, EACH_AFTER = "B each", "B each after a restart"
SECONDS, MESSAGE = "s to restart", "µs per message"
MESSAGES = 10_000  # at each size, as far as there are so many topics
IN_DEPTH = 100_000
ON_QUEUE = 2_000  # less than a queue holds
AT_ONCE = 50  # see `idle`
FILTERS = 400  # of one client: less than brokers allow
WINDOW = 100
LONG_WINDOW = 4_000
PAYLOAD = 32
SETTLE_SECONDS = 0.2
SILENCE_SECONDS = 10.0


def at(name: str, size: int) -> str:
    """What a figure at one size is called."""
    return f"{name} at {size:,}"


@dataclass(frozen=True, kw_only=True)
class Growth(Case):
    """Grow, look, grow on. The outcome's CPU is that of a message at the largest size."""

    sizes: tuple[int, ...] = SIZES
    restarts: bool = True
    goal: float | None = None

    def measure(self, site: Site) -> Outcome:
        """All figures, by size."""
        figures: dict[str, float] = {}
        empty, grown, sent = site.meter.memory(), 0, 0
        spent = Reading(1.0, 0.0, 0.0, 0.0)
        links: list[ByteStream] = []
        try:
            for size in dict.fromkeys(max(1, round(size * site.effort.backlog)) for size in self.sizes):
                self.grow(site, links, range(grown, size))
                grown = size
                time.sleep(SETTLE_SECONDS)
                figures[at(EACH, size)] = (site.meter.memory() - empty) / size
                if self.restarts:
                    restart = site.restart()
                    site = replace(site, meter=restart.meter)
                    figures[at(EACH_AFTER, size)] = (site.meter.memory() - empty) / size
                    figures[at(SECONDS, size)] = restart.spent.wall
                before = site.meter.read()
                sent = self.publish(site, size)
                spent = site.meter.read().since(before)
                figures[at(MESSAGE, size)] = spent.broker_cpu / sent * 1e6
        finally:
            for link in links:
                link.close()
        return Outcome(spent=spent, sent=sent, delivered=sent, figures=figures)

    @abstractmethod
    def grow(self, site: Site, links: list[ByteStream], numbers: range) -> None:
        """Make those of these numbers. Connections that have to stay are among `links`."""

    def publish(self, site: Site, size: int) -> int:
        """Publish to some of them, all over the place; how many messages."""
        publish(site.address, some_topics(size))
        return min(size, MESSAGES)


@dataclass(frozen=True, kw_only=True)
class Sessions(Growth):
    """Devices that have been there, with a durable session and one subscription each. Messages wait for them."""

    durable: bool = True

    def grow(self, site: Site, links: list[ByteStream], numbers: range) -> None:
        """Come, subscribe and go."""
        for some in _in_parts(numbers, AT_ONCE):
            devices = [_Device(site.address, number) for number in some]
            for device in devices:
                device.subscribed()
            for device in devices:
                device.leave()


@dataclass(frozen=True, kw_only=True)
class Subscriptions(Growth):
    """Subscriptions of clients that stay, some hundreds each. Messages reach them with QoS 0."""

    restarts: bool = False

    def grow(self, site: Site, links: list[ByteStream], numbers: range) -> None:
        """Connect as many clients as it takes."""
        for some in _in_parts(numbers, FILTERS):
            link = _Many(site.address, f"many-{some.start}")
            links.append(link)
            link.finish()
            link.subscribe_to([topic(number) for number in some])


@dataclass(frozen=True, kw_only=True)
class RetainedMessages(Growth):
    """Retained messages, which are then replaced."""

    durable: bool = True

    def grow(self, site: Site, links: list[ByteStream], numbers: range) -> None:
        """Publish one on each topic."""
        publish(site.address, map(topic, numbers), retain=True)

    def publish(self, site: Site, size: int) -> int:
        """Replace some of them."""
        publish(site.address, some_topics(size), retain=True)
        return min(size, MESSAGES)


@dataclass(frozen=True, kw_only=True)
class Depth(Growth):
    """Messages that wait in one durable session, and some more that come to it."""

    durable: bool = True

    def grow(self, site: Site, links: list[ByteStream], numbers: range) -> None:
        """Subscribe once, and fill."""
        if not numbers.start:
            device = _Device(site.address, 0)
            device.subscribed()
            device.leave()
        publish(site.address, (topic(0) for _ in numbers), window=LONG_WINDOW)

    def publish(self, site: Site, size: int) -> int:
        """To the one there is."""
        publish(site.address, (topic(0) for _ in range(IN_DEPTH)))
        return IN_DEPTH


@dataclass(frozen=True, kw_only=True)
class Queues(Growth):
    """Queues, and persistent messages that go into the last one of them."""

    sizes: tuple[int, ...] = QUEUE_SIZES

    @property
    def needs(self) -> frozenset[str]:
        """Those that make a queue for whoever sends to it."""
        return frozenset({"amqp", "queues-on-demand"})

    @property
    def stores(self) -> bool:
        """Queues outlive the broker."""
        return True

    def grow(self, site: Site, links: list[ByteStream], numbers: range) -> None:
        """Open a link to each; that makes it."""
        for some in _in_parts(numbers, AT_ONCE):
            clients = [Client(site.doors[0], f"maker-{number}") for number in some]
            for client, number in zip(clients, some, strict=True):
                client.finish()
                client.send_to(site.doors[0].queue(_queue(number)))
            for client in clients:
                client.close()

    def publish(self, site: Site, size: int) -> int:
        """Put messages on one of them."""
        with Load(site) as load:
            client = enter(load, site, "putter")
            client.send_to(site.doors[0].queue(_queue(size - 1)))
            putter = Putter(client, Template(body(PAYLOAD, persistent=True), WINDOW), 0, WINDOW, 1, [])
            load.add_publisher(putter)
            while putter.settled < ON_QUEUE:
                if count := min(putter.batch(), ON_QUEUE - putter.sent):
                    putter.send(count)
                if not load.turn(SILENCE_SECONDS):
                    raise BrokerGone(f"it accepted nothing for {SILENCE_SECONDS:.0f} s")
        return ON_QUEUE


class _Device(Link):
    """A client with a durable session, which subscribes without waiting to be let in."""

    def __init__(self, address: Address, number: int) -> None:
        super().__init__(address, f"device-{number:07}", durable=True)
        self._say(wire.subscribe(topic(number), 1))

    def subscribed(self) -> None:
        """Wait for CONNACK and SUBACK."""
        self.finish()
        self._expect(wire.SUBACK)


class _Many(Link):
    """A client with many subscriptions."""

    def subscribe_to(self, filters: list[str]) -> None:
        """Subscribe to all of them in one packet, and wait until they are granted."""
        self._say(wire.subscribe_all(filters, 0))
        head = self._exactly(2)
        while head[-1] & 0x80:  # the answer has a byte for each
            head += self._exactly(1)
        granted = self._exactly(2 + len(filters))[2:]
        if head[0] != wire.SUBACK or any(granted):
            raise BrokerGone(f"asked for QoS 0 on {len(filters)} filters, the broker granted {set(granted)}")


class _Publisher(Link):
    """Sends what its window allows, and waits for all of it."""

    def send(self, packets: list[bytes]) -> None:
        """Send packets of QoS 1 and wait for their acknowledgements."""
        self._say(b"".join(packets))
        answers = self._exactly(4 * len(packets))
        if answers[::4].strip(bytes([wire.PUBACK])):
            raise BrokerGone("it sent something else than acknowledgements")


def topic(number: int) -> str:
    """That of one device."""
    return f"plant/{number % 100:02}/device-{number:07}/command"


def some_topics(size: int) -> list[str]:
    """Those of some devices, all over the place."""
    count = min(size, MESSAGES)
    return [topic(index * size // count) for index in range(count)]


def publish(address: Address, topics: Iterable[str], *, retain: bool = False, window: int = WINDOW) -> None:
    """Publish a message to each of these topics, with QoS 1."""
    shape = wire.Shape(qos=1, retain=retain)
    link = _Publisher(address, "publisher")
    link.finish()
    packets: list[bytes] = []
    for index, name in enumerate(topics):
        packets.append(shape.publish(name, wire.payload(0, index, PAYLOAD), 1 + len(packets)))
        if len(packets) == window:
            link.send(packets)
            packets = []
    if packets:
        link.send(packets)
    link.close()


def _in_parts(numbers: range, size: int) -> list[range]:
    return [numbers[first : first + size] for first in range(0, len(numbers), size)]


def _queue(number: int) -> str:
    return f"lab.growth.{number}"


GROWTH: tuple[Case, ...] = (
    Sessions(
        name="growth-sessions",
        about="10,000 to 1 million durable sessions with a subscription each; CPU per QoS 1 message to one of them",
        most={at(EACH, SIZES[-1]): 2048, at(EACH_AFTER, SIZES[-1]): 2048, at(SECONDS, SIZES[-1]): 15},
    ),
    Subscriptions(
        name="growth-subscriptions",
        about="10,000 to 1 million subscriptions of clients that are there; CPU per message to one of them",
    ),
    RetainedMessages(
        name="growth-retained", about="10,000 to 1 million retained messages; CPU per message that replaces one"
    ),
    Queues(name="growth-queues", about="200 to 20,000 queues; CPU per persistent message to one of them"),
    Depth(name="growth-depth", about="10,000 to 1 million messages in one durable session; CPU per message to it"),
)
