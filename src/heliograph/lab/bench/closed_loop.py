"""A load while it runs: its connections, the loop that serves them, and the accounts at the end."""

import selectors
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Protocol, Self

from heliograph.lab import wire
from heliograph.lab.bench.case import Outcome, Site
from heliograph.lab.bytestream import ByteStream
from heliograph.lab.link import Link
from heliograph.lab.subscribers import Subscriber
from heliograph.lab.tally import Tally

WARM_UP = 0.25  # of the measured interval, before it
# What is under way when the measured interval begins or ends must be delivered so many times over within it: a slow
# broker that takes up much and hands out little for a while would else be measured by an accident.
LEAST_TURNS = 2
DRAIN_SECONDS = 10.0  # how long messages on their way may take to arrive once nothing more is sent
SILENCE_SECONDS = 2.0  # how long none of them may arrive, before those that have not are given up
# While no window has opened far enough, the generator sleeps a little longer each time. A receiver that wakes up for
# every message makes the broker pay for waking it, which costs a broker that writes message by message a third of its
# CPU; and as each nap is no longer than the time since the last batch, three quarters of a window cannot run out.
SHORTEST_NAP, LONGEST_NAP = 0.00005, 0.001
QUIET_SECONDS = 0.02  # after the last expected message, how long to listen for ones that should not come


class Source(Protocol):
    """The sending end of a load, of whatever protocol."""

    @property
    def link(self) -> ByteStream:
        """Its connection."""

    @property
    def sent(self) -> int:
        """Messages so far."""

    @property
    def settled(self) -> int:
        """Messages that every receiver has got and, where the broker acknowledges, it has acknowledged."""

    @property
    def lost(self) -> int:
        """Deliveries that have not arrived: final once the load has drained."""

    @property
    def strange(self) -> int:
        """What has no place in the load."""

    def batch(self) -> int:
        """How many messages to send now."""

    def send(self, count: int) -> None:
        """Send the next messages."""

    def read(self) -> None:
        """Take what the link has received."""


class Sink(Protocol):
    """The receiving end of a load, of whatever protocol."""

    tallies: list[Tally]

    @property
    def link(self) -> ByteStream:
        """Its connection."""

    @property
    def received(self) -> int:
        """Distinct messages that have arrived."""

    @property
    def strange(self) -> int:
        """What has no place in the load."""

    def read(self) -> None:
        """Take what the link has received."""


class Load:
    """Publishers and subscribers on one broker, served by one thread."""

    def __init__(self, site: Site) -> None:
        self.publishers: list[Source] = []
        self.subscribers: list[Sink] = []
        self.start = 0.0  # of the measured interval, on the performance counter
        self._between: list[Sink] = []
        self._site = site
        self._selector = selectors.DefaultSelector()
        self._links: list[ByteStream] = []
        self._nap = SHORTEST_NAP

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._selector.close()
        for link in self._links:
            link.close()

    def open(self, client: str, version: int = wire.V3, *, durable: bool = False) -> Link:
        """A connected client that is closed with the load."""
        link = Link(self._site.address, client, version, durable=durable)
        self.keep(link)
        link.finish()
        return link

    def keep(self, link: ByteStream) -> None:
        """Close this connection with the load."""
        self._links.append(link)

    def add_publisher(self, publisher: Source) -> None:
        """Let this publisher take part."""
        self.publishers.append(publisher)
        publisher.link.attach(self._selector, publisher.read)

    def add_pair(self, publisher: Source, subscriber: Sink) -> None:
        """Let these two take part, which share a connection; the subscriber reads for both."""
        self.publishers.append(publisher)
        self.add_subscriber(subscriber)

    def add_between(self, sink: Sink) -> None:
        """Let someone take part whose deliveries are not the end of the way: only what goes wrong there counts."""
        self._between.append(sink)
        sink.link.attach(self._selector, sink.read)

    def add_subscriber(self, subscriber: Sink) -> None:
        """Let this subscriber take part."""
        self.subscribers.append(subscriber)
        subscriber.link.attach(self._selector, subscriber.read)

    def leave(self, link: Link) -> None:
        """Have this client say goodbye, in the middle of the load."""
        self._selector.unregister(link.socket)
        self._links.remove(link)
        link.leave()

    def come_back(self, subscriber: Subscriber, link: Link) -> None:
        """Let this subscriber, whose client had left, go on with a new connection."""
        subscriber.move(link)
        link.attach(self._selector, subscriber.read)

    def run(self, send: Callable[[], float]) -> Outcome:
        """Warm up, measure while messages flow, then wait for those on their way.

        `send` is called before every turn of the loop; it returns how long that turn may wait for something to read.
        """
        seconds = self._site.effort.seconds
        self._flow(send, seconds * WARM_UP)
        self._await_first(send)
        self.start = time.perf_counter()
        before, sent, delivered = self._site.meter.read(), self._sent, self._delivered
        under_way = self._under_way
        self._flow(send, seconds)
        under_way = max(under_way, self._under_way, len(self.subscribers))
        self._await_delivery(delivered + LEAST_TURNS * under_way, send)
        after, sent, delivered = self._site.meter.read(), self._sent - sent, self._delivered - delivered
        self._drain()
        readers = [*self.subscribers, *self._between]
        return Outcome(
            spent=after.since(before),
            sent=sent,
            delivered=delivered,
            lost=sum(publisher.lost for publisher in self.publishers),
            duplicates=sum(tally.duplicates for tally in _tallies(readers)),
            strange=sum(sender.strange for sender in self.publishers) + sum(reader.strange for reader in readers),
        )

    def pump(self) -> float:
        """Let publishers send what their windows allow, in rounds: when at least a quarter of them can send."""
        able = [(publisher, count) for publisher in self.publishers if (count := publisher.batch())]
        if 4 * len(able) >= len(self.publishers):
            for publisher, count in able:
                publisher.send(count)
            self._nap = SHORTEST_NAP
        else:
            time.sleep(self._nap)
            self._nap = min(2 * self._nap, LONGEST_NAP)
        return 0.1

    @property
    def _sent(self) -> int:
        return sum(publisher.sent for publisher in self.publishers)

    @property
    def _delivered(self) -> int:
        return sum(tally.received for tally in _tallies(self.subscribers))

    @property
    def _under_way(self) -> int:
        return sum(publisher.lost for publisher in self.publishers)

    def _flow(self, send: Callable[[], float], seconds: float) -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.turn(send())

    def _await_first(self, send: Callable[[], float]) -> None:
        """Go on warming up until something has reached everybody: in a short run some brokers need longer for that."""
        end = time.perf_counter() + DRAIN_SECONDS
        while not all(reader.received for reader in self.subscribers) and time.perf_counter() < end:
            self.turn(send())

    def _await_delivery(self, least: int, send: Callable[[], float]) -> None:
        """Go on measuring until so much has been delivered, unless nothing more comes."""
        end = time.perf_counter() + DRAIN_SECONDS
        seen, silent = self._delivered, time.perf_counter() + SILENCE_SECONDS
        while seen < least and (now := time.perf_counter()) < min(end, silent):
            self.turn(send())
            if self._delivered > seen:
                seen, silent = self._delivered, now + SILENCE_SECONDS

    def turn(self, timeout: float) -> bool:
        """Serve what the connections have; whether there was anything within this time."""
        events = self._selector.select(timeout)
        for key, mask in events:
            key.data.ready(mask)
        return bool(events)

    def _drain(self) -> None:
        end = time.perf_counter() + DRAIN_SECONDS
        while any(publisher.settled < publisher.sent for publisher in self.publishers):
            if not self.turn(SILENCE_SECONDS) or time.perf_counter() > end:
                return
        self.turn(QUIET_SECONDS)


def _tallies(readers: Sequence[Sink]) -> Iterable[Tally]:
    """Their accounts, of which sharers have one together."""
    return {id(tally): tally for reader in readers for tally in reader.tallies}.values()
