"""Requests and answers through pairs of queues: what queue managers are compared by."""

import time
from dataclasses import dataclass

from heliograph.lab.bench.case import Outcome, Site
from heliograph.lab.bench.closed_loop import Load
from heliograph.lab.bench.queue_clients import QueueClients, QueueSender, Responder, Responders, clients_of
from heliograph.lab.bench.queue_throughput import QueueCase
from heliograph.lab.load.client_group import ClientGroup
from heliograph.lab.load.plan import Group, Plan
from heliograph.lab.targets.layout import Layout

# Between two turns of the generator, where several requests are under way: who reads every single message at once makes
# a broker that writes them singly pay for waking it.
NAP = 0.0002


@dataclass(frozen=True, kw_only=True)
class RoundTrips(QueueCase):
    """On every queue manager ten pairs of queues: a requester puts requests on one and gets answers from the other.

    What CPU and rate are per, is the round trip: two puts and two gets.
    """

    managers: int = 1
    pairs: int = 10
    window: int = 30  # requests on their way per pair

    @property
    def layout(self) -> Layout:
        """Two queues for each pair."""
        names = [f"lab.{kind}.{pair}" for pair in range(self.pairs) for kind in ("request", "reply")]
        return Layout(managers=self.managers, queues=tuple(names))

    def measure(self, site: Site) -> Outcome:
        """Every requester sends the next request as soon as it has an answer."""
        with Load(site) as load:
            asking = [self._open(load, site, manager) for manager in range(self.managers)]

            def pump() -> float:
                for source in load.sources:
                    if count := source.batch():
                        source.send_next(count)
                if self.window > 1:
                    time.sleep(NAP)
                return 0.1

            return self.figures(load.run(pump), asking)

    def _open(self, load: Load, site: Site, manager: int) -> ClientGroup:
        request, reply = "queue://lab.request.{client}", "queue://lab.reply.{client}"
        asking = Group(f"requesters-{manager}", "both", self.pairs, destination=request, filters=(reply,))
        answering = Group(f"responders-{manager}", "both", self.pairs, destination=reply, filters=(request,))
        plan = Plan((self.group(site, asking, manager), self.group(site, answering, manager)), 1.0)
        address, poller = site.doors[manager].address, load.loop.poller
        requesters, responders = QueueClients(plan, 0, 0, address, poller), Responders(plan, 1, 0, address, poller)
        load.loop.connect(responders)
        load.loop.connect(requesters)
        sources = [
            QueueSender(client, [requesters.receiver(client.client)], self.window, 1, answered_by=responders.index)
            for client in clients_of(requesters)
        ]
        responders.answering = [
            Responder(client, source) for client, source in zip(clients_of(responders), sources, strict=True)
        ]
        load.add_sources(requesters, sources)
        load.add_receivers(requesters)
        load.add_between(responders)
        return requesters
