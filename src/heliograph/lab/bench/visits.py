"""Clients that come and go: what each costs that connects, is answered, and says goodbye."""

import time
from dataclasses import dataclass

from heliograph.lab.bench.case import Case, Outcome, Site
from heliograph.lab.bench.idle import AT_ONCE
from heliograph.lab.link import Link


@dataclass(frozen=True, kw_only=True)
class Visits(Case):
    """Connect some clients, have all of them leave, and begin again."""

    def measure(self, site: Site) -> Outcome:
        """CPU is per client, for both its CONNECT and its DISCONNECT."""
        count = 0
        before = site.meter.read()
        until = time.perf_counter() + site.effort.seconds
        while time.perf_counter() < until:
            links = [Link(site.address, f"visit-{number}") for number in range(AT_ONCE)]
            for link in links:
                link.finish()
            for link in links:
                link.leave()
            count += len(links)
        return Outcome(spent=site.meter.read().since(before), sent=count, delivered=count)
