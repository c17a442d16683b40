"""A closed loop: clients in this process send as fast as end-to-end windows allow, and one thread serves them all.

A message is settled when every receiver has it and the broker has acknowledged it; a sender never has more than its
window of messages that are not settled. So no broker can build up a backlog, and what is measured is the rate at which
messages go all the way. `run` warms up, waits until something has reached every receiver, measures until enough has
been delivered, and drains; what has not arrived then is lost.
"""

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol, Self

from heliograph.lab.bench.bench_case import BenchOutcome, BrokerSite
from heliograph.lab.load.client_group import ClientGroup
from heliograph.lab.load.client_loop import ClientLoop, give_up

WARM_UP = 0.25  # of the measured interval, before it
# What is in flight when the measured interval begins or ends must be delivered so many times over within it: otherwise
# the figure of a slow broker that accepts much and delivers little for a while would be an accident.
LEAST_TURNS = 2
DRAIN_SECONDS = 10.0  # how long messages in flight may take to arrive once nothing more is sent
SILENCE_SECONDS = 2.0  # how long none of them may arrive, before those that have not are given up
# While no window has opened far enough, the generator sleeps a little longer each time. A receiver that wakes up for
# every message makes the broker pay for waking it, which costs a broker that writes message by message a third of its
# CPU; and as each nap is no longer than the time since the last batch, three quarters of a window cannot run out.
SHORTEST_NAP, LONGEST_NAP = 0.00005, 0.001
QUIET_SECONDS = 0.02  # after the last expected message, how long to listen for ones that should not come


class LoopSource(Protocol):
    """A sender, in any protocol."""

    @property
    def sent(self) -> int:
        """Messages so far."""

    @property
    def settled(self) -> int:
        """Messages that every receiver has got and, where the broker acknowledges, it has acknowledged."""

    def batch(self) -> int:
        """How many messages to send now."""

    def send_next(self, count: int) -> None:
        """Send the next messages."""


class ClosedLoop:
    """Sources and receivers on one broker, served by one thread."""

    def __init__(self, site: BrokerSite) -> None:
        self.loop = ClientLoop(give_up)
        self.started = 0.0  # when the measured interval began, on the performance counter
        self._site = site
        self._copies: list[tuple[LoopSource, int]] = []  # and how many receivers each has
        self._sending: list[ClientGroup] = []
        self._receiving: list[ClientGroup] = []
        self._between: list[ClientGroup] = []
        self._nap = SHORTEST_NAP

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.loop.close()

    def add_sources(self, group: ClientGroup, sources: Sequence[LoopSource], copies: int = 1) -> None:
        """Add senders, which are clients of this group; each message goes to this number of receivers."""
        self._sending.append(group)
        self._copies += [(source, copies) for source in sources]

    def add_receivers(self, group: ClientGroup) -> None:
        """Add receivers: messages that reach clients of this group count as delivered."""
        self._receiving.append(group)

    def add_between(self, group: ClientGroup) -> None:
        """Add clients that only pass messages on: of these, only errors count."""
        self._between.append(group)

    def run(self, send: Callable[[], float]) -> BenchOutcome:
        """Warm up, measure while messages flow, then wait for those in flight.

        `send` is called before every turn of the loop; it returns how long that turn may wait for something to read.
        """
        seconds = self._site.effort.seconds
        self._flow(send, seconds * WARM_UP)
        self._await_first(send)
        self._forget_latencies()
        self.started = time.perf_counter()
        before, sent, delivered = self._site.meter.read(), self._sent, self.delivered
        in_flight = self.in_flight
        self._flow(send, seconds)
        in_flight = max(in_flight, self.in_flight, sum(group.ready for group in self._receiving))
        self._await_delivery(delivered + LEAST_TURNS * in_flight, send)
        after, sent, delivered = self._site.meter.read(), self._sent - sent, self.delivered - delivered
        self._drain()
        lost = self.in_flight
        for group in self._between:
            group.collect()
        return BenchOutcome(
            spent=after.since(before),
            sent=sent,
            delivered=delivered,
            lost=lost,
            duplicates=sum(group.meter.duplicates for group in _distinct(self._receiving, self._between)),
            unexpected=self.unexpected,
        )

    def pump(self) -> float:
        """Let sources send what their windows allow, in rounds: when at least a quarter of them can send."""
        able = [(source, count) for source, _ in self._copies if (count := source.batch())]
        if 4 * len(able) >= len(self._copies):
            for source, count in able:
                source.send_next(count)
            self._nap = SHORTEST_NAP
        else:
            time.sleep(self._nap)
            self._nap = min(2 * self._nap, LONGEST_NAP)
        return 0.1

    @property
    def sources(self) -> list[LoopSource]:
        """All of them."""
        return [source for source, _ in self._copies]

    @property
    def _sent(self) -> int:
        return sum([source.sent for source, _ in self._copies])

    @property
    def delivered(self) -> int:
        """Distinct messages that have reached their receivers."""
        total = 0
        for group in self._receiving:
            group.collect()
            total += group.meter.received - group.meter.duplicates
        return total

    @property
    def in_flight(self) -> int:
        """Deliveries that have not been made: those that are lost, once the load has drained."""
        return sum([source.sent * copies for source, copies in self._copies]) - self.delivered

    @property
    def unexpected(self) -> int:
        """Messages that do not belong to the load."""
        return sum(group.meter.errors for group in _distinct(self._sending, self._receiving, self._between))

    def _forget_latencies(self) -> None:
        for group in self._receiving:
            for recorder in group.meter.recorders.values():
                recorder.take()

    def _flow(self, send: Callable[[], float], seconds: float) -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.loop.turn(send())

    def _await_first(self, send: Callable[[], float]) -> None:
        """Extend the warm-up until every receiver has got something: some brokers take long for that."""
        end = time.perf_counter() + DRAIN_SECONDS
        while not all(source.settled for source in self.sources) and time.perf_counter() < end:
            self.loop.turn(send())

    def _await_delivery(self, least: int, send: Callable[[], float]) -> None:
        """Extend the measurement until enough has been delivered, unless nothing more arrives."""
        end = time.perf_counter() + DRAIN_SECONDS
        seen, silent = self.delivered, time.perf_counter() + SILENCE_SECONDS
        while seen < least and (now := time.perf_counter()) < min(end, silent):
            self.loop.turn(send())
            if self.delivered > seen:
                seen, silent = self.delivered, now + SILENCE_SECONDS

    def _drain(self) -> None:
        end = time.perf_counter() + DRAIN_SECONDS
        while any(source.settled < source.sent for source in self.sources):
            if not self.loop.turn(SILENCE_SECONDS) or time.perf_counter() > end:
                return
        self.loop.turn(QUIET_SECONDS)


def _distinct(*groups: Sequence[ClientGroup]) -> list[ClientGroup]:
    """Each once: a requester is a source and a receiver."""
    return list({id(one): one for some in groups for one in some}.values())
