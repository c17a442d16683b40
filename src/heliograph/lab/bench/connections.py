"""Cases about connections: many that are idle, clients that connect and leave, and very many over AMQP."""

import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass

from heliograph.lab.bench import bench_report
from heliograph.lab.bench.bench_case import BenchCase, BenchEffort, BenchOutcome, BrokerSite
from heliograph.lab.bench.bench_rounds import choose_targets, measure
from heliograph.lab.load.client_loop import ClientLoop, give_up
from heliograph.lab.load.plan import Group, Plan
from heliograph.lab.load.protocols import client_groups
from heliograph.lab.machine import raise_file_limit, split_cores
from heliograph.lab.targets.requirements import Door

# Handshakes in progress at a time: less than the shortest listen backlog (mosquitto's is 100), because a connection
# that does not fit in is tried again by the kernel a whole second later.
AT_ONCE = 50
SETTLE_SECONDS = 0.2
STAY = 3600.0  # seconds: longer than a measurement

WANTED = 60_000  # what a queue manager of another make was shown with, in 30 seconds
SPARE_FILES = 500  # that brokers need for other things


@dataclass(frozen=True, kw_only=True)
class Idle(BenchCase):
    """Open connections, keep them, look at the broker's memory."""

    connections: int
    amqp: bool = False  # a connection has a session, then

    @property
    def needs(self) -> frozenset[str]:
        """Brokers with that protocol."""
        return frozenset({"amqp" if self.amqp else "mqtt"})

    def measure(self, site: BrokerSite) -> BenchOutcome:
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
        return BenchOutcome(
            spent=spent,
            sent=count,
            delivered=count,
            figures={"connections": count, "KB/connection": grown / count / 1024},
        )


@dataclass(frozen=True, kw_only=True)
class Visits(BenchCase):
    """Connect some clients, have all of them leave, one after the other, and begin again."""

    def measure(self, site: BrokerSite) -> BenchOutcome:
        """CPU is per client, for both its CONNECT and its DISCONNECT."""
        group = Group("visit", "connect", AT_ONCE, transport=site.transport, stay=STAY)
        loop = ClientLoop(give_up)
        count = 0
        try:
            [clients] = client_groups(Plan((group,), 1.0), {"main": site.address}, loop.poller)
            before = site.meter.read()
            until = time.perf_counter() + site.effort.seconds
            while time.perf_counter() < until:
                loop.connect(clients, at_once=AT_ONCE)
                for client in list(clients.load_clients):
                    if client is not None:
                        loop.leave([client])
                count += AT_ONCE
            spent = site.meter.read().since(before)
        finally:
            loop.close()
        return BenchOutcome(spent=spent, sent=count, delivered=count)


def most_connections() -> int:
    """As many as the limit on open files allows."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return min(WANTED, files - SPARE_FILES)


def run_connections(connections: int | None, targets: Sequence[str]) -> None:
    """Measure and print one row for each broker."""
    raise_file_limit()
    count = min(connections or WANTED, most_connections())
    case = Idle(name="amqp-connections", about="AMQP connections, each with a session", connections=count, amqp=True)
    print(bench_report.header())
    with split_cores() as cores:
        effort = BenchEffort(seconds=0, rounds=1, connections=count)
        for rows in measure([case], choose_targets(targets), effort, cores, lambda _text: None):
            print("\n".join(bench_report.lines(rows)))
    print(f"in/s: connections per second, each with a SASL exchange, an open and a begin. {bench_report.LEGEND}")
