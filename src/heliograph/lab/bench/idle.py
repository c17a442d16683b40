"""Connections that do nothing: what one costs to open, and what it costs in memory to keep."""

import time
from dataclasses import dataclass

from heliograph.lab.amqp_client import Client
from heliograph.lab.bench.case import Case, Outcome, Site
from heliograph.lab.link import Link

# Handshakes under way at a time: less than the shortest listen backlog (mosquitto's is 100), because a connection
# that does not fit in is tried again by the kernel a whole second later.
AT_ONCE = 50
SETTLE_SECONDS = 0.2


@dataclass(frozen=True, kw_only=True)
class Idle(Case):
    """Open connections, keep them, look at the broker's memory."""

    connections: int
    amqp: bool = False  # a connection has a session, then

    @property
    def needs(self) -> frozenset[str]:
        """Brokers with that protocol."""
        return frozenset({"amqp" if self.amqp else "mqtt"})

    def measure(self, site: Site) -> Outcome:
        """Open all connections; CPU is per connect."""
        count = min(self.connections, site.effort.connections)
        links: list[Client | Link] = []
        try:
            memory, before = site.meter.memory(), site.meter.read()
            for first in range(0, count, AT_ONCE):
                numbers = range(first, min(first + AT_ONCE, count))
                links.extend(self._connect(site, f"idle-{number}") for number in numbers)
                for link in links[first:]:
                    link.finish()
            spent = site.meter.read().since(before)
            time.sleep(SETTLE_SECONDS)  # what a broker does after answering belongs to its memory as well
            grown = site.meter.memory() - memory
        finally:
            for link in links:
                link.close()
        return Outcome(
            spent=spent,
            sent=count,
            delivered=count,
            figures={"connections": count, "KB/connection": grown / count / 1024},
        )

    def _connect(self, site: Site, name: str) -> Client | Link:
        return Client(site.doors[0], name) if self.amqp else Link(site.address, name)
