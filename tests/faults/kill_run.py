"""A run: clients under load, a server that is killed at random moments and started again, and what came of it."""

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from paho.mqtt.client import MQTTMessage

from faults.brokers import Broker
from faults.durable_clients import News, PublishingClient, SubscribingClient
from faults.history import History, RetainedLook, Stream, Subscriber
from faults.mosquitto_subscriber import MosquittoSubscriber
from faults.rules import Violation, violations
from paho_client import V5, V311, PahoClient

QUIET = 10.0
"""Seconds without any news after which nothing is expected to come any more."""
LONGEST_LIFE = 0.4
"""The server is killed within so many seconds of its first acknowledgement."""
STARTS_KILLED = 0.15
"""The part of all starts that are cut short, so that recovery itself is interrupted."""
LONGEST_START = 0.5
RETAINED_TOPICS = 5
A_LOOK = 3.0
"""Seconds that retained messages may take to come to a new subscriber."""


def seed_from_environment() -> int:
    """The seed of a run: FAULTS_SEED to see one again, else another every time. Failures name it."""
    return int(os.environ.get("FAULTS_SEED") or random.randrange(1 << 32))


class Ending(StrEnum):
    """What becomes of the server at the end of a round."""

    KILL = "kill"
    STOP = "stop"
    NONE = "none"


@dataclass(frozen=True)
class Figures:
    """A run in numbers."""

    seed: int
    rounds: int
    kills: int
    sent: int
    acknowledged: int
    arrived: int
    duplicated: int

    def __str__(self) -> str:
        return (
            f"{self.rounds} rounds, {self.kills} kills; {self.sent} messages sent, {self.acknowledged} acknowledged, "
            f"{self.arrived} arrivals, {self.duplicated} of them QoS 1 again; seed {self.seed}"
        )


class KillRun:
    """The broker, everybody who talks to it, and the history they make."""

    def __init__(self, broker: Broker, seed: int, *, mosquitto_sub: bool = False, quiet: float = QUIET) -> None:
        """`quiet` is for brokers of which it is known that some messages will be waited for in vain."""
        self.broker, self.seed = broker, seed
        self._quiet = quiet
        self.history = History()
        self.kills = 0
        self._news = News()
        self._random = random.Random(seed)
        self._publishers = [
            self._publisher("one", V311, 1),
            self._publisher("two", V5, 1),
            self._publisher("three", V311, 2),
            self._publisher("four", V5, 2),
        ]
        self._keeper = self._retaining_publisher()
        self._faithful = [self._subscriber("every", V5, "load/#", 1)]
        self._restless = [
            self._subscriber("exact", V311, "load/one/0", 1),
            self._subscriber("once", V5, "load/+/0", 2),
            self._subscriber("once-old", V311, "load/three/#", 2),
            self._subscriber("member-1", V5, "load/#", 2, group="crew"),
            self._subscriber("member-2", V5, "load/#", 2, group="crew"),
        ]
        self._outsiders = [self._outsider("outsider", "load/+/1", 1)] if mosquitto_sub else []

    def run(
        self, rounds: int, ending: Ending = Ending.KILL, *, progress: Callable[[str], None] = lambda _: None
    ) -> Figures:
        """Do it all."""
        with self._everybody_at_work():
            for number in range(1, rounds + 1):
                self._round(ending)
                progress(f"round {number} of {rounds}: {self.figures(number)}")
            self._finish()
        return self.figures(rounds)

    def violations(self) -> list[Violation]:
        return violations(self.history)

    def figures(self, rounds: int) -> Figures:
        """The numbers so far."""
        streams = [*self.history.streams, *self.history.retained_streams]
        arrived = sum(len(one.arrivals) for one in self.history.subscribers)
        distinct = sum(len(numbers) for one in self._subscribers for numbers in list(one.seen.values()))
        return Figures(
            self.seed,
            rounds,
            self.kills,
            sum(stream.sent for stream in streams),
            sum(len(stream.acknowledged) for stream in streams),
            arrived,
            arrived - distinct,
        )

    # The cast

    @property
    def _senders(self) -> list[PublishingClient]:
        return [*self._publishers, self._keeper]

    @property
    def _subscribers(self) -> list[SubscribingClient | MosquittoSubscriber]:
        return [*self._faithful, *self._restless, *self._outsiders]

    def _publisher(self, name: str, version: int, qos: int) -> PublishingClient:
        streams = [Stream(name, f"load/{name}/{number}", qos) for number in range(2)]
        self.history.streams += streams
        return PublishingClient(name, version, self.broker.port, self.history, self._news, streams)

    def _retaining_publisher(self) -> PublishingClient:
        streams = [Stream("keeper", f"kept/{number}", 1) for number in range(RETAINED_TOPICS)]
        self.history.retained_streams += streams
        return PublishingClient("keeper", V5, self.broker.port, self.history, self._news, streams, retain=True)

    def _subscriber(self, name: str, version: int, topics: str, qos: int, group: str = "") -> SubscribingClient:
        notes = Subscriber(name, topics, qos, group)
        self.history.subscribers.append(notes)
        return SubscribingClient(version, self.broker.port, self.history, self._news, notes)

    def _outsider(self, name: str, topics: str, qos: int) -> MosquittoSubscriber:
        notes = Subscriber(name, topics, qos)
        self.history.subscribers.append(notes)
        return MosquittoSubscriber(self.broker.port, self._news, notes)

    # The course of events

    @contextmanager
    def _everybody_at_work(self) -> Iterator[None]:
        """The server runs, everybody has subscribed before the first message is sent, and all end afterwards."""
        self.broker.start()
        started: list[SubscribingClient | MosquittoSubscriber | PublishingClient] = []
        try:
            for subscriber in self._subscribers:
                subscriber.start()
                started.append(subscriber)
            self._expect("everybody subscribes", lambda: all(one.subscribed for one in self._subscribers))
            for sender in self._senders:
                sender.start()
                started.append(sender)
            yield
        finally:
            for one in started:
                one.end()
            self.broker.kill()

    def _round(self, ending: Ending) -> None:
        """Some come and go; then, at a random moment under load, the server is killed and started again."""
        for client in self._restless:
            if self._random.random() < 0.3:
                client.leave()
            else:
                client.come_back()
        before = [sender.acknowledged for sender in self._senders]
        self._expect(
            "every publisher gets an acknowledgement",
            lambda: all(sender.acknowledged > count for sender, count in zip(self._senders, before, strict=True)),
        )
        self._pause(LONGEST_LIFE)
        if ending is Ending.STOP:
            self.broker.stop()
            self.broker.start()
        elif ending is Ending.KILL:
            self._kill()
            if self._random.random() < STARTS_KILLED:
                self.broker.begin_to_start()
                self._pause(LONGEST_START)
                self._kill()
            self.broker.start()
        self._look_at_retained()

    def _kill(self) -> None:
        self.broker.kill()
        self.kills += 1

    def _pause(self, longest: float) -> None:
        """Let the random moment come."""
        time.sleep(self._random.uniform(0, longest))

    def _finish(self) -> None:
        """All is sent and acknowledged, all has arrived; then once more, to see that nothing is left over.

        After a reconnect a server sends again what it takes for unfinished. One more message in each stream comes after
        all that, so whoever has got it has got everything.
        """
        for sender in self._senders:
            sender.only(0)
        self._drain()
        for client in [*self._faithful, *self._restless]:
            connections = client.connections
            client.leave()
            self._expect(f"{client.name} leaves", lambda: not client.connected)  # noqa: B023
            client.come_back()
            self._expect(f"{client.name} is back", lambda: client.connections > connections)  # noqa: B023
        for sender in self._senders:
            sender.only(RETAINED_TOPICS * 2)
        self._drain()
        self._look_at_retained()

    def _drain(self) -> None:
        for client in self._restless:
            client.come_back()
        self._expect("publishers finish", lambda: all(sender.is_done() for sender in self._senders))
        # Not an assertion: what is missing in the end is for the rules to say.
        self._news.wait_until(self._has_all_arrived, self._quiet)

    def _has_all_arrived(self) -> bool:
        """Whether everything has arrived that was acknowledged."""
        for _, members in self.history.audiences():
            names = {member.name for member in members}
            clients = [one for one in self._subscribers if one.name in names]
            for stream in self.history.streams:
                if members[0].matches(stream):
                    seen = [client.seen.get(stream.topic, set()) for client in clients]
                    # Counting is quick, and tells for as long as much is missing.
                    if sum(len(one) for one in seen) < len(stream.acknowledged):
                        return False
                    if not stream.acknowledged <= set().union(*seen):
                        return False
        return True

    def _look_at_retained(self) -> None:
        """Subscribe as somebody new, and note what is retained."""
        acknowledged = {
            stream.topic: max(stream.acknowledged) for stream in self.history.retained_streams if stream.acknowledged
        }
        look = RetainedLook(acknowledged, {})
        all_there = threading.Event()

        def found(client: object, data: object, message: MQTTMessage) -> None:
            if message.retain:
                look.found[message.topic] = int(message.payload.split()[1])
            if look.found.keys() >= acknowledged.keys():
                all_there.set()

        with PahoClient(V5) as visitor:
            visitor.client.on_message = found
            visitor.connect(self.broker.port)
            visitor.subscribe("kept/#", 1)
            all_there.wait(min(A_LOOK, self._quiet) if acknowledged else 0)
        self.history.looks.append(look)

    def _expect(self, what: str, condition: Callable[[], bool]) -> None:
        assert self._news.wait_until(condition, QUIET), f"{what}: waited for in vain; seed {self.seed}"
