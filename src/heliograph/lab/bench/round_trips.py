"""Requests and answers through pairs of queues: what queue managers are compared by."""

import time
from dataclasses import dataclass

from heliograph.lab.bench.case import Outcome, Site
from heliograph.lab.bench.closed_loop import Load
from heliograph.lab.bench.queue_throughput import QueueCase, enter, figures
from heliograph.lab.queue_ends import Getter, Putter, Responder
from heliograph.lab.targets.layout import Layout
from heliograph.lab.transfers import Template, body

CREDIT = 1000  # as many messages as JMS clients usually have sent to them ahead
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
        template = Template(body(self.size, persistent=self.persistent), self.window)
        with Load(site) as load:
            putters = [
                self._open(load, site, template, manager, pair)
                for manager in range(self.managers)
                for pair in range(self.pairs)
            ]

            def pump() -> float:
                for putter in putters:
                    if count := putter.batch():
                        putter.send(count)
                if self.window > 1:
                    time.sleep(NAP)
                return 0.1

            outcome = load.run(pump)
            return figures(outcome, load, putters, stored=self.persistent)

    def _open(self, load: Load, site: Site, template: Template, manager: int, pair: int) -> Putter:
        door, number = site.doors[manager], manager * self.pairs + pair
        request, reply = door.queue(f"lab.request.{pair}"), door.queue(f"lab.reply.{pair}")
        answering = enter(load, site, f"responder-{number}", manager)
        answering.send_to(reply)
        answering.receive_from(request, CREDIT)
        load.add_between(Responder(answering, template, number))
        asking = enter(load, site, f"requester-{number}", manager)
        asking.send_to(request)
        asking.receive_from(reply, CREDIT)
        getter = Getter(asking, number)
        putter = Putter(asking, template, number, self.window, 1, getter.tallies)
        getter.timing = putter.timing
        load.add_pair(putter, getter)
        return putter
