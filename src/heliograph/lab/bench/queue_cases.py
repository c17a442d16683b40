"""Cases with queues and topics over AMQP: put and get, fan-out, requests and answers, in a closed loop."""

import time
from dataclasses import dataclass, replace

from heliograph.lab.bench.bench_case import BenchCase, BenchOutcome, BrokerSite
from heliograph.lab.bench.closed_loop import ClosedLoop
from heliograph.lab.bench.queue_clients import QueueClients, QueueSender, Responder, Responders, clients_of
from heliograph.lab.load.amqp.client import AmqpClientGroup
from heliograph.lab.load.client_group import ClientGroup
from heliograph.lab.load.histogram import Histogram
from heliograph.lab.load.plan import Group, Payload, Plan
from heliograph.lab.targets.requirements import Layout

AVERAGE, PERCENTILE = "ms on average", "ms 99P"
DISK_BYTES = "disk bytes/message"

# Between two turns of the generator, where several requests are in flight: who reads every single message at once makes
# a broker that writes them singly pay for waking it.
NAP = 0.0002


@dataclass(frozen=True, kw_only=True)
class QueueCase(BenchCase):
    """What loads on queues share."""

    size: int = 256  # bytes of data in a message
    persistent: bool = False
    window: int = 1000  # messages in flight per sender

    @property
    def needs(self) -> frozenset[str]:
        """Brokers that speak nothing but MQTT take no part."""
        return frozenset({"amqp"})

    @property
    def stores(self) -> bool:
        """Persistent messages are stored."""
        return self.persistent

    def group(self, site: BrokerSite, template: Group, manager: int = 0) -> Group:
        """This group with what all of the case have in common, at one queue manager."""
        door = site.doors[manager]
        return replace(
            template,
            protocol="amqp",
            door=f"QM{manager}",
            qos=1,
            window=self.window,
            payload=Payload((self.size,)),
            persistent=self.persistent,
            user=door.user,
            password=door.password,
        )

    def figures(self, outcome: BenchOutcome, receiving: list[ClientGroup]) -> BenchOutcome:
        """With what only loads on queues measure."""
        histogram = Histogram()
        for group in receiving:
            histogram += group.meter.recorder("message").take() or Histogram()
        found = {}
        if histogram.count:
            found = {AVERAGE: histogram.mean / 1e6, PERCENTILE: histogram.percentile(99) / 1e6}
        if self.persistent:
            found[DISK_BYTES] = outcome.written
        return replace(outcome, figures=found)


@dataclass(frozen=True, kw_only=True)
class PutGet(QueueCase):
    """Pairs of a sender and a receiver."""

    pairs: int = 1
    coloured: bool = False  # messages have a property by which they can be selected
    select: bool = False  # all pairs share one queue, and who gets selects by that property
    commit: int = 0  # messages per unit of work, or per confirmed batch where the broker has no units of work

    @property
    def needs(self) -> frozenset[str]:
        """With selectors, a broker that has them."""
        return super().needs | ({"selectors"} if self.select else set())

    @property
    def layout(self) -> Layout:
        """One queue for each pair, or one for all."""
        return Layout(queues=("lab.0",) if self.select else tuple(f"lab.{pair}" for pair in range(self.pairs)))

    def measure(self, site: BrokerSite) -> BenchOutcome:
        """Warm up, measure while the load flows, then wait for what is in flight."""
        transactions = site.doors[0].transactions
        with ClosedLoop(site) as load:
            senders, receivers = _connected(load, site, *self._groups(site, transactions=transactions))
            batch = self.commit or self.window // 4
            sources = [
                QueueSender(client, [receivers.receiver(client.client)], self.window, batch, self.commit)
                for client in clients_of(senders)
            ]
            load.add_sources(senders, sources)
            load.add_receivers(receivers)
            outcome = self.figures(load.run(load.pump), [receivers])
        batched = self.commit and not transactions
        return replace(outcome, note=f"no transactions: {self.commit} per confirmed batch") if batched else outcome

    def _groups(self, site: BrokerSite, *, transactions: bool) -> tuple[Group, Group]:
        queue = "queue://lab.0" if self.select else "queue://lab.{client}"
        work = self.commit if transactions else 0
        putting = Group(
            "putters",
            "publish",
            self.pairs,
            destination=queue,
            labels=(("colour", "c{client}"),) if self.coloured else (),
            transaction=work,
        )
        getting = Group(
            "getters",
            "consume",
            self.pairs,
            filters=(queue,),
            selector="colour = 'c{client}'" if self.select else "",
            transaction=work,
            acknowledge_every=max(1, self.commit),
        )
        return self.group(site, putting), self.group(site, getting)


@dataclass(frozen=True, kw_only=True)
class TopicFanOut(QueueCase):
    """One sender to a topic, and many subscribers."""

    subscribers: int

    def measure(self, site: BrokerSite) -> BenchOutcome:
        """Warm up, measure while the load flows, then wait for what is in flight."""
        sending = self.group(site, Group("sender", "publish", 1, destination="topic://lab"))
        receiving = self.group(site, Group("subscribers", "consume", self.subscribers, filters=("topic://lab",)))
        with ClosedLoop(site) as load:
            senders, receivers = _connected(load, site, sending, receiving)
            heard = [receivers.receiver(number) for number in range(self.subscribers)]
            [client] = clients_of(senders)
            load.add_sources(senders, [QueueSender(client, heard, self.window, self.window // 4)], self.subscribers)
            load.add_receivers(receivers)
            return self.figures(load.run(load.pump), [receivers])


def _connected(
    load: ClosedLoop, site: BrokerSite, sending: Group, receiving: Group
) -> tuple[AmqpClientGroup, AmqpClientGroup]:
    plan, poller = Plan((sending, receiving), 1.0), load.loop.poller
    senders, receivers = (QueueClients(plan, index, 0, site.doors[0].address, poller) for index in (0, 1))
    load.loop.connect(receivers)
    load.loop.connect(senders)
    return senders, receivers


@dataclass(frozen=True, kw_only=True)
class RoundTrips(QueueCase):
    """On every queue manager ten pairs of queues: a requester puts requests on one and gets answers from the other.

    What CPU and rate are per, is the round trip: two puts and two gets.
    """

    managers: int = 1
    pairs: int = 10
    window: int = 30  # requests in flight per pair

    @property
    def layout(self) -> Layout:
        """Two queues for each pair."""
        names = [f"lab.{kind}.{pair}" for pair in range(self.pairs) for kind in ("request", "reply")]
        return Layout(managers=self.managers, queues=tuple(names))

    def measure(self, site: BrokerSite) -> BenchOutcome:
        """Every requester sends the next request as soon as it has an answer."""
        with ClosedLoop(site) as load:
            asking = [self._open(load, site, manager) for manager in range(self.managers)]

            def pump() -> float:
                for source in load.sources:
                    if count := source.batch():
                        source.send_next(count)
                if self.window > 1:
                    time.sleep(NAP)
                return 0.1

            return self.figures(load.run(pump), asking)

    def _open(self, load: ClosedLoop, site: BrokerSite, manager: int) -> ClientGroup:
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
