"""A load while it runs: its connections, the loop that serves them, and the accounts at the end."""

import selectors
import time
from collections.abc import Callable
from types import TracebackType

from heliograph.lab import wire
from heliograph.lab.case import Outcome, Site
from heliograph.lab.link import Link
from heliograph.lab.publishers import Publisher
from heliograph.lab.subscribers import Subscriber

WARM_UP = 0.25  # of the measured interval, before it
DRAIN_SECONDS = 10.0  # how long messages on their way may take to arrive once nothing more is sent
QUIET_SECONDS = 0.02  # after the last expected message, how long to listen for ones that should not come


class Load:
    """Publishers and subscribers on one broker, served by one thread."""

    def __init__(self, site: Site) -> None:
        self.publishers: list[Publisher] = []
        self.subscribers: list[Subscriber] = []
        self._site = site
        self._selector = selectors.DefaultSelector()
        self._links: list[Link] = []

    def __enter__(self) -> "Load":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._selector.close()
        for link in self._links:
            link.close()

    def open(self, client: str, version: int = wire.V3) -> Link:
        """A connected client that is closed with the load."""
        link = Link(self._site.address, client, version)
        self._links.append(link)
        link.finish()
        return link

    def add_publisher(self, publisher: Publisher) -> None:
        """Let this publisher take part."""
        self.publishers.append(publisher)
        publisher.link.attach(self._selector, publisher.read)

    def add_subscriber(self, subscriber: Subscriber) -> None:
        """Let this subscriber take part."""
        self.subscribers.append(subscriber)
        subscriber.link.attach(self._selector, subscriber.read)

    def run(self, send: Callable[[], float]) -> Outcome:
        """Warm up, measure while messages flow, then wait for those on their way.

        `send` is called before every turn of the loop; it returns how long that turn may wait for something to read.
        """
        seconds = self._site.effort.seconds
        self._flow(send, seconds * WARM_UP)
        before, sent, delivered = self._site.meter.read(), self._sent, self._delivered
        self._flow(send, seconds)
        after, sent, delivered = self._site.meter.read(), self._sent - sent, self._delivered - delivered
        self._drain()
        return Outcome(
            spent=after.since(before),
            sent=sent,
            delivered=delivered,
            lost=sum(publisher.lost for publisher in self.publishers),
            duplicates=sum(tally.duplicates for reader in self.subscribers for tally in reader.tallies),
            strange=sum(end.strange for end in (*self.publishers, *self.subscribers)),
        )

    def pump(self) -> float:
        """Let every publisher send what its window allows."""
        for publisher in self.publishers:
            publisher.pump()
        return 0.1

    @property
    def _sent(self) -> int:
        return sum(publisher.sent for publisher in self.publishers)

    @property
    def _delivered(self) -> int:
        return sum(tally.received for reader in self.subscribers for tally in reader.tallies)

    def _flow(self, send: Callable[[], float], seconds: float) -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self._turn(send())

    def _turn(self, timeout: float) -> None:
        for key, events in self._selector.select(timeout):
            key.data.ready(events)

    def _drain(self) -> None:
        end = time.perf_counter() + DRAIN_SECONDS
        while time.perf_counter() < end and any(end.settled < end.sent for end in self.publishers):
            self._turn(0.1)
        self._turn(QUIET_SECONDS)
