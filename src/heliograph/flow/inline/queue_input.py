"""Messages from queues and topics: taken in batches, given back when they fail."""

import time
from dataclasses import replace
from typing import Any

from heliograph.client import Consumer, MessageFormat, Session, Topic
from heliograph.flow.definition import NodeDefinition
from heliograph.flow.engine.outcome import Outcome
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.hosting import Attempts, BatchSize, Step, may_be_put_away, unreadable
from heliograph.flow.inline.conversion import ServerEnvelope, envelopes_of
from heliograph.flow.inline.flow_settings import FlowSettings
from heliograph.flow.inline.units_of_work import UnitsOfWork

WAIT = 0.25
"""Seconds after which an instance that has nothing to do looks whether it shall stop."""


class QueueConsumer:
    """Takes messages for one instance of an input node."""

    def __init__(
        self,
        node: NodeDefinition,
        flow: str,
        units: UnitsOfWork,
        settings: FlowSettings,
        threshold: int,
        attempts: Attempts,
    ) -> None:
        """`threshold` is what the server keeps for the queue; 0 if it has none."""
        self._node = node
        self._units = units
        self._settings = settings
        self._threshold = threshold
        self._attempts = attempts
        self._consumer = consumer_of(units.output.work, node, flow, settings)
        self._size = BatchSize(settings.commit_count)

    def turn(self) -> None:
        """Take what is there, or wait a moment."""
        most = self._size.most
        payloads = self._consumer.receive_encoded(most, WAIT)
        if not payloads:
            self._size.nothing_there()
            return
        if self._settings.commit_interval and len(payloads) < most:
            self._gather(payloads, most)
        envelopes: list[Envelope] = [*envelopes_of(payloads, time.time())]
        try:
            spare = False
            if len(envelopes) == 1:
                spare = may_be_put_away(envelopes[0], self._threshold)
                envelopes = [self._counted(envelopes[0])]
            elif self._attempts.suspect(envelopes):
                # One of them may have killed a process: it does not get the chance to take others with it again.
                self._take_singly(len(envelopes))
                return
            step, outcomes = self._units.process(self._node.name, envelopes, spare=spare)
        except MessageFormat as problem:
            self._unreadable(envelopes, problem)
            return
        self._settle(step, envelopes, outcomes)

    def _gather(self, payloads: list[bytes], most: int) -> None:
        """Wait for the rest of a unit of work."""
        end = time.monotonic() + self._settings.commit_interval
        while len(payloads) < most and (left := end - time.monotonic()) > 0:
            payloads += self._consumer.receive_encoded(most - len(payloads), left)

    def _counted(self, envelope: Envelope) -> Envelope:
        """With the number of times that it has failed in this flow."""
        failed = self._attempts.of(envelope)
        return envelope if failed == envelope.backout_count else replace(envelope, backout_count=failed)

    def _settle(self, step: Step, envelopes: list[Envelope], outcomes: list[Outcome]) -> None:
        if step is Step.BACK_OUT:
            self._attempts.failed(envelopes[0].message_id)
        elif step.is_done and len(envelopes) == 1:
            self._attempts.forget(envelopes[0].message_id)
        self._size.after(step, len(envelopes), sum(len(outcome.effects) for outcome in outcomes))

    def _take_singly(self, count: int) -> None:
        """Give back what was taken; the next so many messages are taken one by one."""
        self._size.after(self._units.undo(Step.SINGLY), count)

    def _unreadable(self, envelopes: list[Envelope], problem: MessageFormat) -> None:
        """Something that is no message: it is put away as soon as it is alone."""
        if len(envelopes) > 1:
            self._take_singly(len(envelopes))
            return
        envelope = envelopes[0]
        assert isinstance(envelope, ServerEnvelope)
        queue = self._node.properties["dead_letter_queue"]
        self._units.complete([unreadable(envelope.payload or b"", problem, queue, self._node.name)])

    def close(self) -> None:
        """Give back what was fetched ahead."""
        self._consumer.close()


def consumer_of(work: Session, node: NodeDefinition, flow: str, settings: FlowSettings) -> Consumer:
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
