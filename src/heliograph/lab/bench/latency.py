"""How long messages take at a fixed rate while other traffic flows: an open loop, in which lateness counts."""

import time
from dataclasses import dataclass, replace

from heliograph.lab import wire
from heliograph.lab.bench.case import Case, Outcome, Site
from heliograph.lab.bench.closed_loop import WARM_UP, Load
from heliograph.lab.link import Link
from heliograph.lab.publishers import Publisher
from heliograph.lab.ring import Ring
from heliograph.lab.subscribers import Stream

TICK = 0.001  # seconds between two batches
PATIENCE = 0.5  # seconds of traffic that may be on its way before a publisher must wait for a stalled broker


@dataclass(frozen=True, kw_only=True)
class Latency(Case):
    """One publisher whose messages are timed and one whose messages are not, each with its own subscriber."""

    rate: int  # timed messages per second
    other_rate: int
    payload: int = 32

    def measure(self, site: Site) -> Outcome:
        """Percentiles from the moment a message was due to be sent to the moment its receiver has read it."""
        schedule = Schedule()
        with Load(site) as load:
            timing = self._open(load, "timed", self.rate, schedule)
            self._open(load, "other", self.other_rate, schedule)
            outcome = load.run(schedule.send)
        warm = schedule.start + site.effort.seconds * WARM_UP
        return replace(outcome, figures=timing.percentiles(schedule.start, round(self.rate * TICK), warm))

    def _open(self, load: Load, name: str, rate: int, schedule: "Schedule") -> "Timing":
        topic, shape, window = f"lab/{name}", wire.Shape(), round(rate * PATIENCE)
        ring = Ring([shape.publish(topic, wire.payload(0, index, self.payload)) for index in range(2 * window + 2)])
        reader = Timing(load.open(f"{name}-s"), ring)
        reader.link.subscribe(topic, 0)
        load.add_subscriber(reader)
        publisher = Publisher(load.open(f"{name}-p"), ring, 0, window, reader.tallies)
        load.add_publisher(publisher)
        schedule.add(publisher, rate)
        return reader


class Schedule:
    """Sends each publisher's messages in one small batch per tick, whatever became of the earlier ones."""

    def __init__(self) -> None:
        self.start = 0.0
        self._batches: list[tuple[Publisher, int]] = []

    def add(self, publisher: Publisher, rate: int) -> None:
        """Have this publisher send `rate` messages per second."""
        self._batches.append((publisher, round(rate * TICK)))

    def send(self) -> float:
        """Send what is due; never wait, because a process that sleeps wakes up late."""
        self.start = self.start or time.perf_counter()
        ticks = int((time.perf_counter() - self.start) / TICK) + 1
        for publisher, batch in self._batches:
            count = min(ticks * batch - publisher.sent, publisher.room)
            if count > 0:
                publisher.send(count)
        return 0.0


class Timing(Stream):
    """Notes when messages arrive. When each was due follows from its number, so a payload needs no time in it."""

    def __init__(self, link: Link, ring: Ring) -> None:
        super().__init__(link, ring)
        self._arrivals: list[tuple[int, int, float]] = []

    def read(self) -> None:
        """Read, and note the time for the run of messages that came."""
        first = self.tallies[0].next
        super().read()
        self._arrivals.append((first, self.tallies[0].next, time.perf_counter()))

    def percentiles(self, start: float, batch: int, since: float) -> dict[str, float]:
        """Milliseconds, over all messages due after `since`, when `batch` messages are due per tick from `start` on."""
        took = [
            (arrived - due) * 1e3
            for first, end, arrived in self._arrivals
            for number in range(first, end)
            if (due := start + number // batch * TICK) >= since
        ]
        took.sort()
        if not took:
            return {}
        return {"50P ms": took[len(took) // 2], "99P ms": took[len(took) * 99 // 100], "max ms": took[-1]}
