"""A steady durable load for a long time on a server in a process of its own: it must lose nothing and stop growing.

    python -m heliograph.lab.bench.soak --minutes 30

Messages of QoS 1 and 2 go to durable sessions at a fixed rate. One consumer comes and goes, so that messages wait for
it; the others reconnect now and then. Retained messages are replaced over and over, and sessions are made and thrown
away. Memory and data folder are sampled all along. At the end everything must have arrived once, and neither may have
grown from the second third of the time to the last. A run of a few minutes shows that the load works, but no slow leak.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from heliograph.lab import wire
from heliograph.lab.bench.case import FULL, Site
from heliograph.lab.bench.closed_loop import QUIET_SECONDS, Load
from heliograph.lab.bench.flatness import MB, Record, Sample, growths, middle_and_last
from heliograph.lab.bench.report import disk_line
from heliograph.lab.bytestream import BrokerGone
from heliograph.lab.disk import describe_disk, occupied
from heliograph.lab.link import Link
from heliograph.lab.publishers import Publisher
from heliograph.lab.ring import Ring
from heliograph.lab.subscribers import Acknowledging, Subscriber
from heliograph.lab.targets.heliograph_server import Heliograph
from heliograph.lab.targets.running import Broker, running
from heliograph.lab.targets.target import Target

TICK = 0.05  # seconds between two batches
PATIENCE = 2.0  # seconds of traffic that may be on its way before a publisher must wait for a stalled server
LONGEST_WINDOW = 30_000  # packet identifiers end at 65535, and a ring is two windows long
KEPT_UP = 0.95  # of the messages that were due must have been sent, or the rate was not the one that was asked for
SILENCE_SECONDS = 10.0
PAYLOAD = 200
RETAINED, RETAINED_TOPICS = "lab/retained", 100
VISIT_SECONDS = 1.0
STAY = 1 / 3  # of every cycle, for the consumer that comes and goes
SAMPLES_PER_LINE = 12  # of progress


@dataclass(frozen=True)
class Plan:
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

    def __init__(self, publisher: Publisher, rate: int) -> None:
        self.publisher = publisher
        self._rate = rate

    def send(self, elapsed: float) -> None:
        """Send what is due by now."""
        count = min(self.due(elapsed) - self.publisher.sent, self.publisher.room)
        if count > 0:
            self.publisher.send(count)

    def due(self, elapsed: float) -> int:
        """How many messages there should be by now."""
        return int(elapsed * self._rate)


class Consumer:
    """A durable session whose client comes and goes."""

    def __init__(self, load: Load, client: str, topic: str, qos: int, ring: Ring) -> None:
        self._load = load
        self._client = client
        link = load.open(client, durable=True)
        link.subscribe(topic, qos)
        self.reader = Acknowledging(link, ring, topic, qos)
        load.add_subscriber(self.reader)
        self.here = True

    def come(self) -> None:
        """Be here."""
        if not self.here:
            self._load.come_back(self.reader, self._load.open(self._client, durable=True))
            self.here = True

    def go(self) -> None:
        """Be away, once what was read has been acknowledged: only what was not may come a second time."""
        if self.here and not self.reader.link.blocked:
            self._load.leave(self.reader.link)
            self.here = False


class Visitors:
    """Clients that connect, leave a durable session with a subscription behind, come back and throw it away."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._count = 0

    def visit(self) -> None:
        """One visit; every second one takes back what the one before has left."""
        number, second = divmod(self._count, 2)
        self._count += 1
        link = Link(self._site.address, f"visitor-{number}", durable=not second)
        link.finish()
        if not second:
            link.subscribe(f"lab/visitor/{number}", 1)
        link.leave()


@dataclass(frozen=True)
class Lane:
    """One publisher and the consumers of its topic; its window follows the first of them, who is hardly ever away."""

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
        return sum(self.pace.publisher.sent - consumer.reader.received for consumer in self.consumers)


class Soak:
    """The whole load on one server."""

    def __init__(self, load: Load, site: Site, plan: Plan) -> None:
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
        self._retained = _ring(_retained_topics(), wire.Shape(qos=1, retain=True), RETAINED_TOPICS * 10, sent=True)
        updates = Publisher(load.open("retainer"), self._retained, 1, RETAINED_TOPICS * 4, [])
        load.add_publisher(updates)
        self._lanes = [once, exactly, Lane(Pace(updates, max(1, plan.rate // 20)))]

    def _lane(self, topic: str, qos: int, rate: int, names: Sequence[str]) -> Lane:
        window = min(LONGEST_WINDOW, max(100, round(rate * PATIENCE)))
        shape, count = wire.Shape(qos=qos), 2 * window + 2
        arriving = _ring([topic], shape, count, sent=False)
        consumers = [Consumer(self._load, name, topic, qos, arriving) for name in names]
        link = self._load.open(f"publisher-{qos}")
        sending = _ring([topic], shape, count, sent=True)
        publisher = Publisher(link, sending, qos, window, consumers[0].reader.tallies)
        self._load.add_publisher(publisher)
        return Lane(Pace(publisher, rate), consumers)

    @property
    def sent(self) -> int:
        """Messages so far."""
        return sum(lane.pace.publisher.sent for lane in self._lanes)

    @property
    def received(self) -> int:
        """Deliveries so far."""
        return sum(consumer.reader.received for lane in self._lanes for consumer in lane.consumers)

    def run(self, sample: Callable[[float], None]) -> list[str]:
        """Put the load on for as long as planned, then wait for what is on its way; what went wrong."""
        start = time.perf_counter()
        sample_at = 0.0
        while (elapsed := time.perf_counter() - start) < self._plan.seconds:
            self._step(elapsed)
            if elapsed >= sample_at:
                sample(elapsed)
                sample_at += self._plan.sample
            while (left := elapsed + TICK - (time.perf_counter() - start)) > 0:
                self._load.turn(left)
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
        while not all(lane.arrived for lane in self._lanes) and self._load.turn(SILENCE_SECONDS):
            pass
        self._load.turn(QUIET_SECONDS)

    def _accounts(self) -> list[str]:
        readers = [consumer.reader for lane in self._lanes for consumer in lane.consumers]
        tallies = [tally for reader in readers for tally in reader.tallies]
        counts = {
            "lost": sum(lane.lost for lane in self._lanes),
            "delivered twice": sum(tally.duplicates for tally in tallies),
            "out of order": sum(tally.late for tally in tallies),
            "strange packets": sum(reader.strange for reader in readers)
            + sum(lane.pace.publisher.strange for lane in self._lanes),
        }
        return [f"{count} {name}" for name, count in counts.items() if count]

    def _check_retained(self) -> list[str]:
        """A new subscriber must get the last message of every topic, and no other."""
        sent = self._lanes[-1].pace.publisher.sent
        last = range(max(0, sent - RETAINED_TOPICS), sent)
        expected = sorted(number % self._retained.count for number in last)
        with Load(self._site) as load:
            reader = Collecting(load.open("retained-check"))
            reader.link.subscribe(f"{RETAINED}/#", 1)
            load.add_subscriber(reader)
            while len(reader.sequences) < len(expected) and load.turn(SILENCE_SECONDS):
                pass
            load.turn(QUIET_SECONDS)
        return (
            [] if sorted(reader.sequences) == expected else ["retained messages are not the last ones of their topics"]
        )


class Collecting(Subscriber):
    """Notes which messages come, one by one: there are only a few."""

    def __init__(self, link: Link) -> None:
        super().__init__(link, [])
        self.sequences: list[int] = []

    def read(self) -> None:
        """Read every whole packet."""
        data = bytes(self.link.receive(self._kept))
        end = 0
        for start, body, end in wire.packets(data):
            delivery = wire.read_publish(data[start:end], body - start, self.link.version)
            if delivery is not None:
                self.sequences.append(delivery.sequence)
        self._kept = data[end:]


def _retained_topics() -> list[str]:
    return [f"{RETAINED}/{number:03}" for number in range(RETAINED_TOPICS)]


def _ring(topics: Sequence[str], shape: wire.Shape, count: int, *, sent: bool) -> Ring:
    """What is sent to these topics in turn, or how it arrives: without packet identifiers."""
    return Ring(
        [
            shape.publish(topics[index % len(topics)], wire.payload(0, index, PAYLOAD), index + 1 if sent else 0)
            for index in range(count)
        ]
    )


def soak(plan: Plan, results: Path, target: Target) -> int:
    """Run the load; 1 when anything was lost or doubled, or the server grew."""
    print(f"{plan.seconds / 60:g} minutes at {plan.rate} messages/s of QoS 1. {disk_line(describe_disk())}", flush=True)
    with Record(results) as record:
        try:
            with running(target, None, durable=True) as broker:
                problems = _soak(broker, plan, record)
        except BrokerGone as gone:
            problems = [f"the server failed: {gone}"]
    problems += _growth(record)
    print(f"all samples: {results}")
    print("\n".join([f"FAILED: {problem}" for problem in problems] or ["flat, nothing lost, nothing doubled"]))
    return 1 if problems else 0


def _soak(broker: Broker, plan: Plan, record: Record) -> list[str]:
    meter = broker.meter
    site = Site(broker.address, meter, FULL)
    with Load(site) as load:
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


def main(argv: Sequence[str] | None = None) -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(
        prog="python -m heliograph.lab.bench.soak", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--minutes", type=_positive, default=30.0, metavar="N", help="how long (30)")
    parser.add_argument("--rate", type=int, default=2000, metavar="N", help="QoS 1 messages per second (2000)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="where samples go (bench-results/soak-TIME.csv)")
    args = parser.parse_args(argv)
    results = args.csv or Path("bench-results") / time.strftime("soak-%Y%m%dT%H%M%S.csv")
    try:
        return soak(Plan(args.minutes * 60, args.rate), results, Heliograph())
    except KeyboardInterrupt:
        print(f"broken off; samples so far: {results}", file=sys.stderr)
        return 130


def _positive(text: str) -> float:
    minutes = float(text)
    if minutes <= 0:
        raise argparse.ArgumentTypeError("expected more than 0 minutes")
    return minutes


if __name__ == "__main__":
    sys.exit(main())
