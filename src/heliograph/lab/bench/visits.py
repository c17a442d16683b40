"""Clients that come and go: what each costs that connects, is answered, and says goodbye."""

import time
from dataclasses import dataclass

from heliograph.lab.bench.case import Case, Outcome, Site
from heliograph.lab.bench.idle import AT_ONCE, STAY
from heliograph.lab.load.client_loop import ClientLoop, give_up
from heliograph.lab.load.plan import Group, Plan
from heliograph.lab.load.protocols import client_groups


@dataclass(frozen=True, kw_only=True)
class Visits(Case):
    """Connect some clients, have all of them leave, one after the other, and begin again."""

    def measure(self, site: Site) -> Outcome:
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
        return Outcome(spent=spent, sent=count, delivered=count)
