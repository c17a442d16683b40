"""What a broker costs when it holds ten times and a hundred times as much: memory, restarts, CPU per message.

Each case creates objects of one kind (sessions, subscriptions, retained messages, queues, waiting messages) up to each
of some sizes, and measures the broker at each of them.
"""

import time
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from heliograph.lab.bench.bench_case import BenchCase, BenchOutcome, BrokerSite
from heliograph.lab.bench.closed_loop import ClosedLoop
from heliograph.lab.bench.queue_clients import QueueSender, clients_of
from heliograph.lab.errors import BrokerGone
from heliograph.lab.load.amqp.client import AmqpClientGroup
from heliograph.lab.load.client_loop import ClientLoop, give_up
from heliograph.lab.load.mqtt.acknowledgements import PUBACK
from heliograph.lab.load.mqtt.client import MqttClientGroup
from heliograph.lab.load.mqtt.connection import MqttConnection
from heliograph.lab.load.mqtt.packet_cycle import marked_payload
from heliograph.lab.load.plan import Address, Group, Member, Payload, Plan
from heliograph.lab.load.protocols import client_groups
from heliograph.lab.probes.broker_meter import MeterReading
from heliograph.mqtt import Publish, encode

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
_VERSION = 4  # MQTT 3.1.1
SETTLE_SECONDS = 0.2
SILENCE_SECONDS = 10.0

_ACK_SIZE = 4
PATIENCE = 10.0  # seconds that a broker may take to acknowledge anything


def at(name: str, size: int) -> str:
    """What a figure at one size is called."""
    return f"{name} at {size:,}"


@dataclass(frozen=True, kw_only=True)
class Growth(BenchCase):
    """Grow, look, grow on. The outcome's CPU is that of a message at the largest size."""

    sizes: tuple[int, ...] = SIZES
    restarts: bool = True
    goal: float | None = None

    def measure(self, site: BrokerSite) -> BenchOutcome:
        """All figures, by size."""
        figures: dict[str, float] = {}
        empty, grown, sent = site.meter.memory(), 0, 0
        spent = MeterReading(1.0, 0.0, 0.0, 0.0)
        loop = ClientLoop(give_up)
        try:
            for size in dict.fromkeys(max(1, round(size * site.effort.backlog)) for size in self.sizes):
                self.grow(site, loop, range(grown, size))
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
            loop.close()
        return BenchOutcome(spent=spent, sent=sent, delivered=sent, figures=figures)

    @abstractmethod
    def grow(self, site: BrokerSite, loop: ClientLoop, numbers: range) -> None:
        """Make those of these numbers. Connections that have to stay are in `loop`."""

    def publish(self, site: BrokerSite, size: int) -> int:
        """Publish to some of them, all over the place; how many messages."""
        publish(site, some_topics(size))
        return min(size, MESSAGES)


@dataclass(frozen=True, kw_only=True)
class Sessions(Growth):
    """Devices that have been there, with a durable session and one subscription each. Messages wait for them."""

    durable: bool = True

    def grow(self, site: BrokerSite, loop: ClientLoop, numbers: range) -> None:
        """Come, subscribe and go."""
        for some in _in_parts(numbers, AT_ONCE):
            _come_and_go(site, some)


@dataclass(frozen=True, kw_only=True)
class Subscriptions(Growth):
    """Subscriptions of clients that stay, some hundreds each. Messages reach them with QoS 0."""

    restarts: bool = False

    def grow(self, site: BrokerSite, loop: ClientLoop, numbers: range) -> None:
        """Connect as many clients as it takes."""
        for some in _in_parts(numbers, FILTERS):
            filters = tuple(topic(number) for number in some)
            group = Group(f"many-{some.start}", "consume", 1, filters=filters)
            loop.connect(*client_groups(Plan((group,), 1.0), {"main": site.address}, loop.poller))


@dataclass(frozen=True, kw_only=True)
class RetainedMessages(Growth):
    """Retained messages, which are then replaced."""

    durable: bool = True

    def grow(self, site: BrokerSite, loop: ClientLoop, numbers: range) -> None:
        """Publish one on each topic."""
        publish(site, map(topic, numbers), retain=True)

    def publish(self, site: BrokerSite, size: int) -> int:
        """Replace some of them."""
        publish(site, some_topics(size), retain=True)
        return min(size, MESSAGES)


@dataclass(frozen=True, kw_only=True)
class Depth(Growth):
    """Messages that wait in one durable session, and some more that come to it."""

    durable: bool = True

    def grow(self, site: BrokerSite, loop: ClientLoop, numbers: range) -> None:
        """Subscribe once, and fill."""
        if not numbers.start:
            _come_and_go(site, range(1))
        publish(site, (topic(0) for _ in numbers), window=LONG_WINDOW)

    def publish(self, site: BrokerSite, size: int) -> int:
        """To the one there is."""
        publish(site, (topic(0) for _ in range(IN_DEPTH)))
        return IN_DEPTH


@dataclass(frozen=True, kw_only=True)
class Queues(Growth):
    """Queues, and persistent messages that go into the last one of them."""

    sizes: tuple[int, ...] = QUEUE_SIZES

    @property
    def needs(self) -> frozenset[str]:
        """Brokers that make a queue when a client sends to it."""
        return frozenset({"amqp", "queues-on-demand"})

    @property
    def stores(self) -> bool:
        """Queues outlive the broker."""
        return True

    def grow(self, site: BrokerSite, loop: ClientLoop, numbers: range) -> None:
        """Open a link to each; that makes it."""
        for some in _in_parts(numbers, AT_ONCE):
            makers = tuple(Member(f"maker-{number}", topics=(f"queue://{_queue(number)}",)) for number in some)
            group = self._group(site, Group(f"makers-{some.start}", "publish", len(makers), members=makers))
            made = ClientLoop(give_up)
            try:
                made.connect(*client_groups(Plan((group,), 1.0), {"main": site.doors[0].address}, made.poller))
            finally:
                made.close()

    def publish(self, site: BrokerSite, size: int) -> int:
        """Put messages on one of them."""
        group = self._group(site, Group("putter", "publish", 1, destination=f"queue://{_queue(size - 1)}"))
        with ClosedLoop(site) as load:
            clients = AmqpClientGroup(Plan((group,), 1.0), 0, 0, site.doors[0].address, load.loop.poller)
            load.loop.connect(clients)
            sender = QueueSender(clients_of(clients)[0], [], WINDOW, 1)
            while sender.settled < ON_QUEUE:
                if count := min(sender.batch(), ON_QUEUE - sender.sent):
                    sender.send_next(count)
                if not load.loop.turn(SILENCE_SECONDS):
                    raise BrokerGone(f"it accepted nothing for {SILENCE_SECONDS:.0f} s")
        return ON_QUEUE

    @staticmethod
    def _group(site: BrokerSite, template: Group) -> Group:
        door = site.doors[0]
        payload = Payload((PAYLOAD,))
        return replace(
            template,
            protocol="amqp",
            qos=1,
            window=WINDOW,
            payload=payload,
            persistent=True,
            user=door.user,
            password=door.password,
        )


def _come_and_go(site: BrokerSite, numbers: range) -> None:
    """Have devices with durable sessions connect, subscribe and go."""
    devices = tuple(Member(f"device-{number:07}", filters=(topic(number),)) for number in numbers)
    group = Group("devices", "consume", len(devices), members=devices, qos=1, durable=True)
    loop = ClientLoop(give_up)
    try:
        clients = MqttClientGroup(Plan((group,), 1.0), 0, 0, site.address, loop.poller)
        loop.connect(clients)
        loop.leave([one for one in clients.load_clients if one is not None])
    finally:
        loop.close()


def topic(number: int) -> str:
    """That of one device."""
    return f"plant/{number % 100:02}/device-{number:07}/command"


def some_topics(size: int) -> list[str]:
    """Those of some devices, all over the place."""
    count = min(size, MESSAGES)
    return [topic(index * size // count) for index in range(count)]


def publish(site: BrokerSite, topics: Iterable[str], *, retain: bool = False, window: int = WINDOW) -> None:
    """Publish a message to each of these topics, with QoS 1: a window of them, then wait for all of those."""

    def packets() -> Iterable[bytes]:
        for index, name in enumerate(topics):
            payload = marked_payload(0, index, PAYLOAD)
            yield encode(Publish(name, payload, 1, retain, packet_id=1 + index % window), _VERSION)

    publish_packets(site.address, packets(), window)


def _in_parts(numbers: range, size: int) -> list[range]:
    return [numbers[first : first + size] for first in range(0, len(numbers), size)]


def _queue(number: int) -> str:
    return f"lab.growth.{number}"


GROWTH: tuple[BenchCase, ...] = (
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


class _Publisher(MqttConnection):
    """Counts acknowledgements."""

    __slots__ = ("acknowledged",)

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self.acknowledged = 0

    def take(self, data: memoryview, now: int) -> int:
        """Count acknowledgements, all of which have four bytes."""
        if not self.ready:
            return super().take(data, now)
        whole = len(data) // _ACK_SIZE * _ACK_SIZE
        if bytes(data[:whole:_ACK_SIZE]).strip(bytes((PUBACK,))):
            raise BrokerGone("it sent packets other than acknowledgements")
        self.acknowledged += whole // _ACK_SIZE
        return whole


def publish_packets(address: Address, packets: Iterable[bytes], window: int) -> None:
    """Send packets of QoS 1, `window` of them at a time, and wait for their acknowledgements."""
    loop = ClientLoop(give_up)
    try:
        group = Group("publisher", "publish", 1, destination="any")
        clients = MqttClientGroup(Plan((group,), 1.0), 0, 0, address, loop.poller, _Publisher)
        loop.connect(clients)
        publisher = clients.load_clients[0]
        assert isinstance(publisher, _Publisher)
        rest, sent = iter(packets), 0
        while some := list(islice(rest, window)):
            publisher.link.write(b"".join(some))
            sent += len(some)
            while publisher.acknowledged < sent:
                if not loop.turn(PATIENCE):
                    raise BrokerGone(f"it acknowledged nothing for {PATIENCE:.0f} s")
    finally:
        loop.close()
