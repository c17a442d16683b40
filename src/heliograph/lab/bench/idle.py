"""Connections that do nothing: what one costs to open, and what it costs in memory to keep."""

import time
from dataclasses import dataclass

from heliograph.lab.bench.case import Case, Outcome, Site
from heliograph.lab.load.client_loop import ClientLoop, give_up
from heliograph.lab.load.plan import Group, Plan
from heliograph.lab.load.protocols import client_groups
from heliograph.lab.targets.layout import Door

# Handshakes under way at a time: less than the shortest listen backlog (mosquitto's is 100), because a connection
# that does not fit in is tried again by the kernel a whole second later.
AT_ONCE = 50
SETTLE_SECONDS = 0.2
STAY = 3600.0  # seconds: longer than a measurement


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
        door = site.doors[0] if self.amqp else Door(site.address)
        group = Group(
            "idle",
            "connect",
            count,
            protocol="amqp" if self.amqp else "mqtt311",
            transport=site.transport,
            stay=STAY,
            user=door.user,
            password=door.password,
        )
        loop = ClientLoop(give_up)
        clients = client_groups(Plan((group,), 1.0), {"main": door.address}, loop.poller)
        try:
            memory, before = site.meter.memory(), site.meter.read()
            loop.connect(*clients, at_once=AT_ONCE)
            spent = site.meter.read().since(before)
            time.sleep(SETTLE_SECONDS)  # what a broker does after answering belongs to its memory as well
            grown = site.meter.memory() - memory
        finally:
            loop.close()
        return Outcome(
            spent=spent,
            sent=count,
            delivered=count,
            figures={"connections": count, "KB/connection": grown / count / 1024},
        )
