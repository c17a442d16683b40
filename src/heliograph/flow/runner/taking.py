"""Messages from queues and topics: taken in batches, given back when they fail."""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from heliograph.client import Topic
from heliograph.client.blocking import Consumer, Session
from heliograph.client.problems import MessageFormat
from heliograph.flow.definition.flow import NodeDefinition
from heliograph.flow.engine.effects import DeadLetter
from heliograph.flow.engine.outcome import LogEvent, Outcome, Result
from heliograph.flow.envelope import Envelope
from heliograph.flow.runner.conversion import ServerEnvelope, envelopes_of
from heliograph.flow.runner.settings import Settings
from heliograph.flow.runner.units import Units, Verdict

WAIT = 0.25
"""Seconds after which an instance that has nothing to do looks whether it shall stop."""
_MANY_EFFECTS = 2000
_MOST_REMEMBERED = 10000
_SHARED = 1
"""So many failures of a message may be those of another that was in the same batch; then it is taken alone."""


class Attempts:
    """How often messages have failed in this flow. Shared by all instances of a process.

    The server may count one more: when a process dies, its whole batch has failed in the eyes of the server. And it
    may count less: a message with a failure path is tried up to twice the threshold, and the server would put it away.
    """

    def __init__(self) -> None:
        self._counts: dict[bytes, int] = {}
        self._lock = threading.Lock()

    def of(self, envelope: Envelope) -> int:
        """How often this message, which the server says has failed so many times, has failed."""
        return max(self._counts.get(envelope.message_id, 0), envelope.backout_count - _SHARED)

    def suspect(self, envelopes: Sequence[Envelope]) -> bool:
        """Whether any of these messages may have failed before."""
        if any(envelope.backout_count for envelope in envelopes):
            return True
        counts = self._counts
        return bool(counts) and any(envelope.message_id in counts for envelope in envelopes)

    def failed(self, message_id: bytes) -> None:
        """Once more. Messages without an identifier are left to the server to count."""
        if not message_id:
            return
        with self._lock:
            if len(self._counts) >= _MOST_REMEMBERED:
                self._counts.clear()
            self._counts[message_id] = self._counts.get(message_id, 0) + 1

    def forget(self, message_id: bytes) -> None:
        """It is done with."""
        if self._counts:
            self._counts.pop(message_id, None)


class Taker:
    """Takes messages for one instance of an input node."""

    def __init__(
        self, node: NodeDefinition, flow: str, units: Units, settings: Settings, threshold: int, attempts: Attempts
    ) -> None:
        """`threshold` is what the server keeps for the queue; 0 if it has none."""
        self._node = node
        self._units = units
        self._settings = settings
        self._threshold = threshold
        self._attempts = attempts
        self._consumer = consumer_of(units.outlet.work, node, flow, settings)
        self._most = settings.commit_count
        self._singly = 0
        """How many messages are taken one by one."""

    def turn(self) -> None:
        """Take what is there, or wait a moment."""
        most = 1 if self._singly else self._most
        payloads = self._consumer.receive_encoded(most, WAIT)
        if not payloads:
            self._singly = 0
            return
        if self._settings.commit_interval and len(payloads) < most:
            self._gather(payloads, most)
        envelopes: list[Envelope] = [*envelopes_of(payloads, time.time())]
        try:
            spare = False
            if len(envelopes) == 1:
                spare = self._spared(envelopes[0])
                envelopes = [self._counted(envelopes[0])]
            elif self._attempts.suspect(envelopes):
                # One of them may have killed a process: it does not get the chance to take others with it again.
                self._take_singly(len(envelopes))
                return
            verdict, outcomes = self._units.process(self._node.name, envelopes, spare=spare)
        except MessageFormat as problem:
            self._unreadable(envelopes, problem)
            return
        self._settle(verdict, envelopes, outcomes)

    def _spared(self, envelope: Envelope) -> bool:
        """Whether the server would put it away if it failed once more, though the flow has a path for that."""
        return 0 < self._threshold <= envelope.backout_count + 1 and bool(envelope.message_id)

    def _gather(self, payloads: list[bytes], most: int) -> None:
        """Wait for the rest of a unit of work."""
        end = time.monotonic() + self._settings.commit_interval
        while len(payloads) < most and (left := end - time.monotonic()) > 0:
            payloads += self._consumer.receive_encoded(most - len(payloads), left)

    def _counted(self, envelope: Envelope) -> Envelope:
        """With the number of times that it has failed in this flow."""
        failed = self._attempts.of(envelope)
        return envelope if failed == envelope.backout_count else replace(envelope, backout_count=failed)

    def _settle(self, verdict: Verdict, envelopes: list[Envelope], outcomes: list[Outcome]) -> None:
        if verdict is Verdict.SINGLY:
            self._singly = max(self._singly, len(envelopes))
            return
        if verdict is Verdict.LATER:
            return
        if verdict is Verdict.BACKED_OUT:
            self._singly = max(1, self._singly)
            self._attempts.failed(envelopes[0].message_id)
            return
        if self._singly:
            self._singly -= 1
            self._attempts.forget(envelopes[0].message_id)
        effects = sum(len(outcome.effects) for outcome in outcomes)
        if effects > _MANY_EFFECTS:
            self._most = max(1, self._most * _MANY_EFFECTS // effects)

    def _take_singly(self, count: int) -> None:
        """Give back what was taken; the next so many messages are taken one by one."""
        self._units.undo(Verdict.SINGLY)
        self._singly = max(self._singly, count)

    def _unreadable(self, envelopes: list[Envelope], problem: MessageFormat) -> None:
        """Something that is no message: alone, it is put away as bytes."""
        if len(envelopes) > 1:
            self._take_singly(len(envelopes))
            return
        envelope = envelopes[0]
        assert isinstance(envelope, ServerEnvelope)
        letter = Envelope(envelope.payload or b"", persistent=True)
        queue = self._node.properties["dead_letter_queue"]
        effect = DeadLetter(queue, letter, str(problem), str(problem), self._node.name)
        event = LogEvent(self._node.name, str(problem))
        self._units.complete([Outcome(Result.DEAD_LETTER, [effect], [event])], lambda _: False)

    def close(self) -> None:
        """Give back what was fetched ahead."""
        self._consumer.close()


def consumer_of(work: Session, node: NodeDefinition, flow: str, settings: Settings) -> Consumer:
    """A consumer of the node's queue or topic; a subscription is shared by all instances."""
    prefetch = max(2, min(4 * settings.commit_count, 2000))
    properties: Any = node.properties
    if node.type == "QueueInput":
        return work.consumer(properties["queue"], prefetch=prefetch)
    name = properties["subscription"]
    return work.consumer(
        Topic(properties["topic"]),
        subscription=name or f"flow.{flow}.{node.name}",
        durable=bool(name),
        shared=True,
        prefetch=prefetch,
    )
