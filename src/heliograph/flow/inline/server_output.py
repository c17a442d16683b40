"""Output to the server: messages are sent in runs, within the unit of work or outside of it."""

import logging
import re
import threading
import time
from collections.abc import Mapping, Sequence

from heliograph.client import (
    Connection,
    Destination,
    MessageFormat,
    MessagingProblem,
    Producer,
    Queue,
    RunReceipt,
    Session,
    Topic,
    connect,
)
from heliograph.client.management import management
from heliograph.flow.engine.outcome import DeadLetter, Effect, Publish, Put, WriteFile
from heliograph.flow.inline.conversion import payload_of, readdressing_to

# The way to the server, when it is there.

LOG = logging.getLogger("heliograph.flow")
_PAUSE = 0.5


def connected(server: str, stop: threading.Event) -> Connection | None:
    """A connection to the server, as soon as there is one; None if it is time to stop before."""
    said = ""
    while not stop.is_set():
        try:
            return connect(server)
        except MessagingProblem as problem:
            if str(problem) != said:
                said = str(problem)
                LOG.warning("waiting for the server: %s", problem)
            stop.wait(_PAUSE)
    return None


# Queues in which flows keep what is theirs.


def flow_queue(session: Session, *parts: str) -> str:
    """The name of a queue in which a flow keeps something; it is defined if it is not there yet."""
    name = re.sub(r"[^A-Za-z0-9._]", "_", ".".join(("FLOW", *parts)))
    if not management(session, "queue-list", pattern=name):
        management(session, "queue-define", name=name, default_persistence=True)
    return name


Message = Put | Publish | DeadLetter
MESSAGES = frozenset({Put, Publish, DeadLetter})
"""The effects that are messages to be put."""
MOST_PRODUCERS = 200


def destination_of(effect: Effect) -> str:
    """Where it goes, as refusals name it."""
    if isinstance(effect, Publish):
        return effect.topic
    return (
        effect.queue if isinstance(effect, Put | DeadLetter) else effect.name if isinstance(effect, WriteFile) else ""
    )


class _Run:
    """Messages in flight to one destination."""

    __slots__ = ("effects", "payloads", "place", "readdressing", "receipt", "transactional")

    def __init__(self, first: Message, transactional: bool) -> None:
        self.place: Destination = Topic(first.topic) if isinstance(first, Publish) else Queue(first.queue)
        self.transactional = transactional
        self.readdressing = readdressing_to(first)
        self.effects: list[Message] = []
        self.payloads: list[bytes] = []
        self.receipt: RunReceipt | None = None


class ServerOutput:
    """Puts messages for one instance."""

    def __init__(self, connection: Connection, origins: Mapping[str, str]) -> None:
        """`origins` has the queue of each input node."""
        self._connection = connection
        self._origins = origins
        self.work: Session = connection.session("transacted")
        """What is taken and put in the unit of work."""
        self._plain: Session | None = None
        self._producers: dict[tuple[bool, Destination], Producer] = {}
        self._under_way: list[_Run] = []
        self._refused: list[tuple[Message, str]] = []

    def send(self, effects: Sequence[Message], *, transactional: bool) -> None:
        """Send messages. `refused` waits for the server's answers."""
        now = round(time.time() * 1000)
        runs: dict[tuple[type, str], _Run] = {}
        for effect in effects:
            kind = type(effect)
            key = (kind, effect.topic if kind is Publish else effect.queue)  # type: ignore[union-attr]
            run = runs.get(key)
            if run is None:
                run = runs[key] = _Run(effect, transactional)
            try:
                run.payloads.append(payload_of(effect, now, self._origins, run.readdressing))
                run.effects.append(effect)
            except MessageFormat as problem:
                self._refused.append((effect, str(problem)))
        for run in runs.values():
            try:
                run.receipt = self._producer(run.place, transactional).send_encoded(run.payloads)
            except MessagingProblem as problem:
                self._refused += [(effect, str(problem)) for effect in run.effects]
            else:
                self._under_way.append(run)

    def refused(self) -> list[tuple[Message, str]]:
        """Wait for the answers to all messages that were sent; return those that were refused, and why."""
        under_way, self._under_way = self._under_way, []
        for run in under_way:
            assert run.receipt is not None
            failures = run.receipt.refused()
            self._refused += [(run.effects[at], str(why)) for at, why in failures.items()]
            if failures:
                self._forget(run.place, run.transactional)
        refused, self._refused = self._refused, []
        return refused

    def forget(self) -> None:
        """Forget the messages in flight: their outcome does not matter any more."""
        self._under_way = []
        self._refused = []

    def _producer(self, place: Destination, transactional: bool) -> Producer:
        key = (transactional, place)
        found = self._producers.get(key)
        if found is None:
            session = self.work if transactional else self.plain
            found = self._producers[key] = session.producer(place)
            if len(self._producers) > MOST_PRODUCERS:
                self._producers.pop(next(iter(self._producers))).close()
        return found

    @property
    def plain(self) -> Session:
        """For what is put whatever becomes of the unit of work."""
        if self._plain is None:
            self._plain = self._connection.session()
        return self._plain

    def _forget(self, place: Destination, transactional: bool) -> None:
        """Drop a producer whose link may be closed; the next use creates another."""
        producer = self._producers.pop((transactional, place), None)
        if producer is not None:
            producer.close()
