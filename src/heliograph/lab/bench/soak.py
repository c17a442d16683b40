"""A steady durable load for a long time on a server in a process of its own: nothing may be lost, nothing may grow.

Messages of QoS 1 and 2 go to durable sessions at a fixed rate. One consumer comes and goes, so that messages wait for
it; the others reconnect now and then. Retained messages are replaced, and sessions are created and discarded. Memory
and the size of the data folder are sampled all the time. At the end every message must have arrived exactly once, and
neither may have grown from the second third of the time to the last. A run of a few minutes shows that the load works,
but no slow leak.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heliograph.lab.bench.bench_case import FULL, BrokerSite
from heliograph.lab.bench.closed_loop import QUIET_SECONDS, ClosedLoop
from heliograph.lab.bench.soak_samples import MB, Record, Sample, growths, middle_and_last
from heliograph.lab.errors import BrokerGone
from heliograph.lab.load.client_loop import ClientLoop, give_up
from heliograph.lab.load.mqtt.client import MqttClientGroup
from heliograph.lab.load.mqtt.connection import MqttConnection
from heliograph.lab.load.mqtt.packet_cycle import MARK, PacketCycle, marked_payload
from heliograph.lab.load.mqtt.repeating_publisher import RepeatingPublisher, RepeatingPublishers
from heliograph.lab.load.mqtt.repeating_subscriber import RepeatingSubscriber, RepeatingSubscribers
from heliograph.lab.load.plan import Group, Plan
from heliograph.lab.machine import describe_disk, disk_line, occupied
from heliograph.lab.targets.broker_process import Broker, running_broker
from heliograph.lab.targets.target import Target
from heliograph.mqtt import Packet, Publish, encode

TICK = 0.05  # seconds between two batches
PATIENCE = 2.0  # seconds of traffic that may be in flight before a publisher must wait for a stalled server
LONGEST_WINDOW = 30_000  # packet identifiers end at 65535, and a ring is two windows long
KEPT_UP = 0.95  # of the messages that were due must have been sent, or the rate was not the one that was asked for
SILENCE_SECONDS = 10.0
PAYLOAD = 200
RETAINED, RETAINED_TOPICS = "lab/retained", 100
VISIT_SECONDS = 1.0
STAY = 1 / 3  # of every cycle, for the consumer that comes and goes
SAMPLES_PER_LINE = 12  # of progress
_VERSION = 4  # MQTT 3.1.1


@dataclass(frozen=True)
class SoakPlan:
    """How long, how much, and how often things happen."""

    seconds: float
    rate: int  # QoS 1 messages per second; there are a tenth as many of QoS 2, and a twentieth retained

    @property
    def sample(self) -> float:
        """Seconds between two samples: a few, fewer in a run that is too short for that."""
        return min(5.0, self.seconds / 36)

    @property
    def cycle(self) -> float:
        """Seconds in which a consumer comes and goes once: many of them fit into a third of the time."""
        return max(1.0, min(60.0, self.seconds / 30))


class Pace:
    """A publisher that sends at a fixed rate, as far as the server keeps up."""

    def __init__(self, publisher: RepeatingPublisher, rate: int) -> None:
        self.publisher = publisher
        self._rate = rate

    def send(self, elapsed: float) -> None:
        """Send what is due by now."""
        count = min(self.due(elapsed) - self.publisher.sent, self.publisher.room())
        if count > 0:
            self.publisher.send_next(count)

    def due(self, elapsed: float) -> int:
        """How many messages there should be by now."""
        return int(elapsed * self._rate)


class Consumer:
    """A durable session whose client comes and goes."""

    def __init__(
        self, loop: ClientLoop, site: BrokerSite, client: str, topic: str, qos: int, cycle: PacketCycle
    ) -> None:
        self._loop = loop
        group = Group(client, "consume", 1, filters=(topic,), qos=qos, durable=True, client_id=client)
        self.group = RepeatingSubscribers(Plan((group,), 1.0), 0, site.address, loop.poller, [cycle])
        self.tracker = self.group.trackers[0][0]
        loop.connect(self.group)
        self.group.resume = True

    def come(self) -> None:
        """Connect, if it is not connected."""
        if not self._reader:
            self._loop.connect(self.group)

    def go(self) -> None:
        """Disconnect, once what was read has been acknowledged: only what was not may be redelivered."""
        if self._reader and not self._reader[0].link.blocked:
            self._loop.leave(self._reader)

    @property
    def _reader(self) -> list[RepeatingSubscriber]:
        return self.group.subscribers


class Visitors:
    """Clients that connect, leave a durable session with a subscription behind, come back and throw it away."""

    def __init__(self, site: BrokerSite) -> None:
        self._site = site
        self._count = 0

    def visit(self) -> None:
        """One visit; every second one takes back what the one before has left."""
        number, second = divmod(self._count, 2)
        self._count += 1
        name = f"visitor-{number}"
        if second:
            group = Group(name, "publish", 1, destination="none", client_id=name)
        else:
            group = Group(name, "consume", 1, filters=(f"lab/visitor/{number}",), qos=1, durable=True, client_id=name)
        loop = ClientLoop(give_up)
        try:
            clients = MqttClientGroup(Plan((group,), 1.0), 0, 0, self._site.address, loop.poller)
            loop.connect(clients)
            loop.leave([one for one in clients.load_clients if one is not None])
        finally:
            loop.close()


@dataclass(frozen=True)
class Lane:
    """One publisher and the consumers of its topic; its window follows the first of them, which is hardly ever away."""

    pace: Pace
    consumers: Sequence[Consumer] = ()

    @property
    def arrived(self) -> bool:
        """Whether every message has been acknowledged and has reached every consumer."""
        publisher = self.pace.publisher
        return publisher.settled == publisher.sent and not self.lost

    @property
    def lost(self) -> int:
        """Deliveries that have not arrived."""
        return sum(self.pace.publisher.sent - consumer.tracker.received for consumer in self.consumers)


class Soak:
    """The whole load on one server."""

    def __init__(self, load: ClosedLoop, site: BrokerSite, plan: SoakPlan) -> None:
        self._load = load
        self._plan = plan
        self._site = site
        self._visitors = Visitors(site)
        self._visit_at = 0.0
        self._cycles = 0
        once = self._lane("lab/soak/once", 1, plan.rate, ["steady-1", "wanderer"])
        exactly = self._lane("lab/soak/exactly", 2, max(1, plan.rate // 10), ["steady-2"])
        self._steady = [once.consumers[0], exactly.consumers[0]]
        self._wanderer = once.consumers[1]
        self._retained = _cycle(_retained_topics(), 1, RETAINED_TOPICS * 10, sent=True, retain=True)
        updates = self._publisher("retainer", 1, RETAINED_TOPICS * 4, self._retained)
        self._lanes = [once, exactly, Lane(Pace(updates, max(1, plan.rate // 20)))]

    def _lane(self, topic: str, qos: int, rate: int, names: Sequence[str]) -> Lane:
        window = min(LONGEST_WINDOW, max(100, round(rate * PATIENCE)))
        count = 2 * window + 2
        arriving = _cycle([topic], qos, count, sent=False)
        consumers = [Consumer(self._load.loop, self._site, name, topic, qos, arriving) for name in names]
        publisher = self._publisher(f"publisher-{qos}", qos, window, _cycle([topic], qos, count, sent=True))
        publisher.received_by = [consumers[0].tracker]
        return Lane(Pace(publisher, rate), consumers)

    def _publisher(self, name: str, qos: int, window: int, cycle: PacketCycle) -> RepeatingPublisher:
        group = Group(name, "publish", 1, destination="lab", qos=qos, window=window, client_id=name)
        loop = self._load.loop
        clients = RepeatingPublishers(Plan((group,), 1.0), 0, self._site.address, loop.poller, [cycle])
        loop.connect(clients)
        return clients.publishers[0]

    @property
    def sent(self) -> int:
        """Messages so far."""
        return sum(lane.pace.publisher.sent for lane in self._lanes)

    @property
    def received(self) -> int:
        """Deliveries so far."""
        return sum(consumer.tracker.received for lane in self._lanes for consumer in lane.consumers)

    def run(self, sample: Callable[[float], None]) -> list[str]:
        """Put the load on for as long as planned, then wait for what is in flight; what went wrong."""
        start = time.perf_counter()
        sample_at = 0.0
        while (elapsed := time.perf_counter() - start) < self._plan.seconds:
            self._step(elapsed)
            if elapsed >= sample_at:
                sample(elapsed)
                sample_at += self._plan.sample
            while (left := elapsed + TICK - (time.perf_counter() - start)) > 0:
                self._load.loop.turn(left)
        behind = [lane for lane in self._lanes if lane.pace.publisher.sent < KEPT_UP * lane.pace.due(elapsed)]
        self._finish()
        problems = ["the server did not keep up with the rate; ask for less with --rate"] if behind else []
        return problems + self._accounts() + self._check_retained()

    def _step(self, elapsed: float) -> None:
        for lane in self._lanes:
            lane.pace.send(elapsed)
        if elapsed >= self._visit_at:
            self._visit_at += VISIT_SECONDS
            self._visitors.visit()
        cycles, phase = divmod(elapsed / self._plan.cycle, 1)
        if cycles > self._cycles:
            self._cycles = int(cycles)
            for consumer in self._steady:
                consumer.go()
                consumer.come()
        if phase < STAY:
            self._wanderer.come()
        else:
            self._wanderer.go()

    def _finish(self) -> None:
        self._wanderer.come()
        while not all(lane.arrived for lane in self._lanes) and self._load.loop.turn(SILENCE_SECONDS):
            pass
        self._load.loop.turn(QUIET_SECONDS)

    def _accounts(self) -> list[str]:
        consumers = [consumer for lane in self._lanes for consumer in lane.consumers]
        errors = sum(consumer.group.meter.errors for consumer in consumers)
        counts = {
            "lost": sum(lane.lost for lane in self._lanes),
            "duplicates": sum(consumer.tracker.duplicates for consumer in consumers),
            "out of order": sum(consumer.tracker.late for consumer in consumers),
            "unexpected packets": errors + sum(lane.pace.publisher.client_group.meter.errors for lane in self._lanes),
        }
        return [f"{count} {name}" for name, count in counts.items() if count]

    def _check_retained(self) -> list[str]:
        """A new subscriber must get the last message of every topic, and no other."""
        sent = self._lanes[-1].pace.publisher.sent
        last = range(max(0, sent - RETAINED_TOPICS), sent)
        expected = sorted(number % self._retained.count for number in last)
        loop = ClientLoop(give_up)
        try:
            group = Group("retained-check", "consume", 1, filters=(f"{RETAINED}/#",), qos=1)
            clients = MqttClientGroup(Plan((group,), 1.0), 0, 0, self._site.address, loop.poller, Collecting)
            loop.connect(clients)
            reader = clients.load_clients[0]
            assert isinstance(reader, Collecting)
            while len(reader.sequences) < len(expected) and loop.turn(SILENCE_SECONDS):
                pass
            loop.turn(QUIET_SECONDS)
        finally:
            loop.close()
        return (
            [] if sorted(reader.sequences) == expected else ["retained messages are not the last ones of their topics"]
        )


class Collecting(MqttConnection):
    """Notes which messages come, one by one: there are only a few."""

    __slots__ = ("sequences",)

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self.sequences: list[int] = []

    def take_other(self, first: int, packet: Packet, now: int) -> None:
        """Note the number of a message."""
        if isinstance(packet, Publish):
            self.sequences.append(MARK.unpack_from(packet.payload)[1])


def _retained_topics() -> list[str]:
    return [f"{RETAINED}/{number:03}" for number in range(RETAINED_TOPICS)]


def _cycle(topics: Sequence[str], qos: int, count: int, *, sent: bool, retain: bool = False) -> PacketCycle:
    """What is sent to these topics in turn, or how it arrives: without packet identifiers."""
    packets = []
    for index in range(count):
        payload, identifier = marked_payload(0, index, PAYLOAD), index + 1 if sent else 0
        packet = Publish(topics[index % len(topics)], payload, qos, retain, packet_id=identifier)
        packets.append(encode(packet, _VERSION))
    return PacketCycle(packets)


def run_soak(plan: SoakPlan, results: Path, target: Target) -> int:
    """Run the load; 1 when anything was lost or doubled, or the server grew."""
    print(f"{plan.seconds / 60:g} minutes at {plan.rate} messages/s of QoS 1. {disk_line(describe_disk())}", flush=True)
    with Record(results) as record:
        try:
            with running_broker(target, None, durable=True) as broker:
                problems = _soak(broker, plan, record)
        except BrokerGone as gone:
            problems = [f"the server failed: {gone}"]
    problems += _growth(record)
    print(f"all samples: {results}")
    print("\n".join([f"FAILED: {problem}" for problem in problems] or ["flat, nothing lost, nothing doubled"]))
    return 1 if problems else 0


def _soak(broker: Broker, plan: SoakPlan, record: Record) -> list[str]:
    meter = broker.meter
    site = BrokerSite(broker.address, meter, FULL)
    with ClosedLoop(site) as load:
        work = Soak(load, site, plan)

        def sample(elapsed: float) -> None:
            taken = Sample(elapsed, meter.memory(), occupied(broker.data), work.sent, work.received)
            record.add(taken)
            if len(record.samples) % SAMPLES_PER_LINE == 1:
                print(_line(taken), flush=True)

        problems = work.run(sample)
        print(f"sent {work.sent}, received {work.received}")
        return problems


def _line(sample: Sample) -> str:
    return (
        f"{sample.seconds:6.0f} s  {sample.resident / MB:7.1f} MB resident  {sample.data / MB:8.1f} MB of data  "
        f"{sample.sent:>10} sent  {sample.received:>10} received"
    )


def _growth(record: Record) -> list[str]:
    if len(record.samples) < 3:
        return ["it was over too soon to say whether anything grew"]
    for name, values in (
        ("resident memory", [sample.resident for sample in record.samples]),
        ("data folder", [sample.data for sample in record.samples]),
    ):
        middle, last = middle_and_last(values)
        print(f"{name}: {middle / MB:.1f} MB in the second third, {last / MB:.1f} MB in the last (medians)")
    return growths(record.samples)
