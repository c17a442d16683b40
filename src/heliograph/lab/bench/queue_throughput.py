"""Messages through queues and topics of AMQP as fast as an end-to-end window lets them go."""

from dataclasses import dataclass, replace

from heliograph.lab.amqp_client import Client
from heliograph.lab.bench.case import Case, Outcome, Site
from heliograph.lab.bench.closed_loop import Load
from heliograph.lab.commits import ConfirmedGetter, ConfirmedPutter, TransactedGetter, TransactedPutter
from heliograph.lab.queue_ends import Getter, Putter
from heliograph.lab.targets.layout import Layout
from heliograph.lab.timing import milliseconds
from heliograph.lab.transfers import Template, body

DISK_BYTES = "disk bytes/message"


@dataclass(frozen=True, kw_only=True)
class QueueCase(Case):
    """What loads on queues share."""

    size: int = 256  # bytes of data in a message
    persistent: bool = False
    window: int = 1000  # messages on their way per putter

    @property
    def needs(self) -> frozenset[str]:
        """Brokers that speak nothing but MQTT take no part."""
        return frozenset({"amqp"})

    @property
    def stores(self) -> bool:
        """Persistent messages are stored."""
        return self.persistent


def figures(outcome: Outcome, load: Load, putters: list[Putter], *, stored: bool) -> Outcome:
    """With what only loads on queues measure."""
    found = milliseconds([putter.timing for putter in putters], load.start)
    if stored:
        found[DISK_BYTES] = outcome.written
    return replace(outcome, figures=found)


def enter(load: Load, site: Site, name: str, manager: int = 0) -> Client:
    """A client of a queue manager whose session has begun."""
    client = Client(site.doors[manager], name)
    load.keep(client)
    client.finish()
    return client


@dataclass(frozen=True, kw_only=True)
class PutGet(QueueCase):
    """Pairs of one who puts and one who gets."""

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
        return Layout(queues=tuple(dict.fromkeys(map(self._queue, range(self.pairs)))))

    def measure(self, site: Site) -> Outcome:
        """Warm up, measure while the load flows, then wait for what is on its way."""
        with Load(site) as load:
            putters = [self._open(load, site, pair) for pair in range(self.pairs)]
            outcome = figures(load.run(load.pump), load, putters, stored=self.persistent)
        batched = self.commit and not site.doors[0].transactions
        return replace(outcome, note=f"no transactions: {self.commit} per confirmed batch") if batched else outcome

    def _open(self, load: Load, site: Site, pair: int) -> Putter:
        address = site.doors[0].queue(self._queue(pair))
        into, out = enter(load, site, f"g{pair}"), enter(load, site, f"p{pair}")
        into.receive_from(address, self.window, f"colour = 'c{pair}'" if self.select else "")
        out.send_to(address)
        properties = {"colour": f"c{pair}"} if self.coloured else None
        message = body(self.size, persistent=self.persistent, properties=properties)
        getter, putter = self._ends(into, out, message, pair, transactions=site.doors[0].transactions)
        getter.timing = putter.timing
        load.add_subscriber(getter)
        load.add_publisher(putter)
        return putter

    def _ends(
        self, into: Client, out: Client, message: bytes, pair: int, *, transactions: bool
    ) -> tuple[Getter, Putter]:
        window, commit = self.window, self.commit
        if not commit:
            getter = Getter(into, pair)
            return getter, Putter(out, Template(message, window), pair, window, window // 4, getter.tallies)
        if not transactions:
            getter = ConfirmedGetter(into, pair, commit)
            return getter, ConfirmedPutter(out, message, pair, window, commit, getter.tallies)
        into.coordinate()
        out.coordinate()
        getter = TransactedGetter(into, pair, commit)
        return getter, TransactedPutter(out, message, pair, window, commit, getter.tallies)

    def _queue(self, pair: int) -> str:
        return f"lab.{0 if self.select else pair}"


@dataclass(frozen=True, kw_only=True)
class TopicFanOut(QueueCase):
    """One who sends to a topic, and many who are subscribed to it."""

    subscribers: int

    def measure(self, site: Site) -> Outcome:
        """Warm up, measure while the load flows, then wait for what is on its way."""
        topic, window = site.doors[0].topic("lab"), self.window
        template = Template(body(self.size, persistent=self.persistent), window)
        with Load(site) as load:
            getters = []
            for number in range(self.subscribers):
                client = enter(load, site, f"s{number}")
                client.receive_from(topic, window)
                getters.append(Getter(client, 0))
                load.add_subscriber(getters[-1])
            out = enter(load, site, "p")
            out.send_to(topic)
            putter = Putter(out, template, 0, window, window // 4, [getter.tallies[0] for getter in getters])
            getters[0].timing = putter.timing
            load.add_publisher(putter)
            return figures(load.run(load.pump), load, [putter], stored=False)
