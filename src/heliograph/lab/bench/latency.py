"""Latency at a fixed rate beside other traffic. The loop is open: a message that is sent late counts as late."""

import time
from dataclasses import dataclass, replace

from heliograph.lab.bench.bench_case import BenchCase, BenchOutcome, BrokerSite
from heliograph.lab.bench.closed_loop import WARM_UP, ClosedLoop
from heliograph.lab.load.mqtt.packet_cycle import PacketCycle, marked_payload
from heliograph.lab.load.mqtt.repeating_publisher import RepeatingPublisher, RepeatingPublishers
from heliograph.lab.load.mqtt.repeating_subscriber import BytesSubscriber, RepeatingSubscribers
from heliograph.lab.load.plan import Group, Plan
from heliograph.mqtt import Publish, encode

_VERSION = 4  # MQTT 3.1.1
TICK = 0.001  # seconds between two batches
PATIENCE = 0.5  # seconds of traffic that may be in flight before a publisher must wait for a stalled broker


@dataclass(frozen=True, kw_only=True)
class Latency(BenchCase):
    """One publisher whose messages are timed and one whose messages are not, each with its own subscriber."""

    rate: int  # timed messages per second
    other_rate: int
    payload: int = 32

    def measure(self, site: BrokerSite) -> BenchOutcome:
        """Percentiles from the moment a message was due to be sent to the moment its receiver has read it."""
        schedule = TickSchedule()
        arrivals = Arrivals()
        with ClosedLoop(site) as load:
            self._open(load, site, "timed", self.rate, schedule, arrivals)
            self._open(load, site, "other", self.other_rate, schedule, None)
            outcome = load.run(schedule.send)
        warm = schedule.start + site.effort.seconds * WARM_UP
        return replace(outcome, figures=arrivals.percentiles(schedule.start, round(self.rate * TICK), warm))

    def _open(
        self,
        load: ClosedLoop,
        site: BrokerSite,
        name: str,
        rate: int,
        schedule: "TickSchedule",
        arrivals: "Arrivals | None",
    ) -> None:
        topic, window = f"lab/{name}", round(rate * PATIENCE)
        cycle = PacketCycle(
            [
                encode(Publish(topic, marked_payload(0, index, self.payload)), _VERSION)
                for index in range(2 * window + 2)
            ]
        )
        receiving = Group(f"{name}-subscriber", "consume", 1, transport=site.transport, filters=(topic,))
        subscribers = TimedSubscribers(Plan((receiving,), 1.0), 0, site.address, load.loop.poller, [cycle])
        subscribers.arrivals = arrivals
        sending = Group(f"{name}-publisher", "publish", 1, transport=site.transport, destination=topic, window=window)
        publishers = RepeatingPublishers(Plan((sending,), 1.0), 0, site.address, load.loop.poller, [cycle])
        load.loop.connect(subscribers)
        load.loop.connect(publishers)
        [publisher] = publishers.publishers
        publisher.received_by = subscribers.trackers[0]
        load.add_receivers(subscribers)
        load.add_sources(publishers, [publisher])
        schedule.add(publisher, rate)


class TickSchedule:
    """Sends each publisher's messages in one small batch per tick, whatever became of the earlier ones."""

    def __init__(self) -> None:
        self.start = 0.0
        self._batches: list[tuple[RepeatingPublisher, int]] = []

    def add(self, publisher: RepeatingPublisher, rate: int) -> None:
        """Have this publisher send `rate` messages per second."""
        self._batches.append((publisher, round(rate * TICK)))

    def send(self) -> float:
        """Send what is due; never wait, because a process that sleeps wakes up late."""
        self.start = self.start or time.perf_counter()
        ticks = int((time.perf_counter() - self.start) / TICK) + 1
        for publisher, batch in self._batches:
            count = min(ticks * batch - publisher.sent, publisher.room())
            if count > 0:
                publisher.send_next(count)
        return 0.0


class Arrivals:
    """When messages arrived. When each was due follows from its number, so a payload needs no time in it."""

    def __init__(self) -> None:
        self._runs: list[tuple[int, int, float]] = []

    def note(self, first: int, end: int) -> None:
        """These have just arrived."""
        self._runs.append((first, end, time.perf_counter()))

    def percentiles(self, start: float, batch: int, since: float) -> dict[str, float]:
        """Milliseconds, over all messages due after `since`, when `batch` messages are due per tick from `start` on."""
        took = [
            (arrived - due) * 1e3
            for first, end, arrived in self._runs
            for number in range(first, end)
            if (due := start + number // batch * TICK) >= since
        ]
        took.sort()
        if not took:
            return {}
        return {"50P ms": took[len(took) // 2], "99P ms": took[len(took) * 99 // 100], "max ms": took[-1]}


class TimedSubscribers(RepeatingSubscribers):
    """Subscribers that note arrival times, if they have been given a place to note them."""

    arrivals: Arrivals | None = None

    def make_client(self, client: int, began: int) -> "TimedSubscriber":
        """Begin to connect."""
        return TimedSubscriber(self, client, self.make_link(), began)


class TimedSubscriber(BytesSubscriber):
    """Notes the time for each run of messages."""

    __slots__ = ()

    def take_messages(self, data: memoryview, offset: int) -> int:
        """Take what came, and note the time."""
        first = self.trackers[0].next
        used = super().take_messages(data, offset)
        assert isinstance(self.client_group, TimedSubscribers)
        if self.client_group.arrivals is not None:
            self.client_group.arrivals.note(first, self.trackers[0].next)
        return used
