"""Millions of messages that wait for a consumer: what keeping them takes in memory, and how fast they go out."""

import time
from dataclasses import dataclass, replace

from heliograph.lab.bench.case import Case, Outcome, Site
from heliograph.lab.bench.offline_subscriber import OfflineSubscriber
from heliograph.lab.probes.meter import Meter

RESIDENT = "MB resident"
LOOK_SECONDS = 0.1


@dataclass(frozen=True, kw_only=True)
class Backlog(Case):
    """Publish while the consumer is away; CPU and rate are those of draining."""

    messages: int
    payload: int = 100
    durable: bool = True

    def measure(self, site: Site) -> Outcome:
        """Fill, then drain. Memory is the most that was seen at any time, not what is left at the end."""
        queue = OfflineSubscriber(site.messages(self.messages), 1, self.payload)
        peak = Peak(site.meter)
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


class Peak:
    """The most memory that a broker was seen to have."""

    def __init__(self, meter: Meter) -> None:
        self.most = 0
        self._meter = meter
        self._next = 0.0

    def look(self, *, at_once: bool = False) -> None:
        """Cheap enough to be called all the time: it looks now and then."""
        now = time.perf_counter()
        if now >= self._next or at_once:
            self._next = now + LOOK_SECONDS
            self.most = max(self.most, self._meter.memory())
