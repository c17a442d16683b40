"""Consumes queues and topics: messages are received in batches and released when processing fails."""

import json
import threading
import time
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import uuid4

from heliograph.client import Consumer, Message, MessageFormat, Session, Topic
from heliograph.flow.definition import NodeDefinition
from heliograph.flow.engine.compiled_flow import CompiledFlow
from heliograph.flow.engine.node import Timer
from heliograph.flow.engine.outcome import LogEvent, Outcome, Result
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.hosting import Attempts, BatchSize, Step, may_be_put_away, unreadable
from heliograph.flow.inline.conversion import ServerEnvelope, envelopes_of
from heliograph.flow.inline.flow_settings import FlowSettings
from heliograph.flow.inline.server_output import flow_queue
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
        self._consumer = consumer_of(units.output.work, node, flow, settings)
        # These decide how the next batch is received after a failure.
        self._threshold = threshold
        self._attempts = attempts
        self._size = BatchSize(settings.commit_count)

    def turn(self) -> None:
        """Process one batch, or wait a moment if there is none."""
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
                # One of them may have crashed a process before: processed one by one, it cannot affect the others.
                self._take_one_by_one(len(envelopes))
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
        """Return the envelope with the number of times that it has failed in this flow."""
        failed = self._attempts.of(envelope)
        return envelope if failed == envelope.backout_count else replace(envelope, backout_count=failed)

    def _settle(self, step: Step, envelopes: list[Envelope], outcomes: list[Outcome]) -> None:
        if step is Step.BACK_OUT:
            self._attempts.failed(envelopes[0].message_id)
        elif step.is_done and len(envelopes) == 1:
            self._attempts.forget(envelopes[0].message_id)
        self._size.after(step, len(envelopes), sum(len(outcome.effects) for outcome in outcomes))

    def _take_one_by_one(self, count: int) -> None:
        """Release the batch, and receive these messages one by one."""
        self._size.after(self._units.undo(Step.ONE_BY_ONE), count)

    def _unreadable(self, envelopes: list[Envelope], problem: MessageFormat) -> None:
        """Dead-letter input that cannot be decoded; a batch is split first, to find out which message it is."""
        if len(envelopes) > 1:
            self._take_one_by_one(len(envelopes))
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


# Timers: aggregations whose replies did not come.
#
# What is due is not processed at once. A message that names it is put on a queue of the flow's own, and that message is
# consumed like any other. So a time-out is part of a unit of work, and comes again if the process dies in it. If the
# message was put twice, the second one finds nothing to do, because it is another occasion.

_INTERVAL = 0.5
_AGAIN = 300.0
"""Seconds after which a message about the same thing is put again, if that is still due."""
_FORGET_EVERY = 3600.0
_KEPT = 7 * 86400.0


class TimerConsumer:
    """Looks for what is due, and sends it on, each in a unit of work of its own."""

    def __init__(self, flow: CompiledFlow, units: UnitsOfWork, stop: threading.Event) -> None:
        self._flow = flow
        self._units = units
        self._stop = stop
        self._forgotten = 0.0
        self._told: dict[Timer, float] = {}
        """What a message was put for, and when."""
        self._looked = 0.0
        queue = flow_queue(units.output.plain, flow.definition.name, "TIMERS")
        self._producer = units.output.plain.producer(queue)
        self._consumer = units.output.work.consumer(queue, prefetch=1)

    def turn(self) -> None:
        """Look once, send on what is due, or wait a moment."""
        if time.monotonic() - self._looked >= _INTERVAL:
            self._look()
            self._looked = time.monotonic()
        message = self._consumer.receive(_INTERVAL)
        if message is None:
            return
        timer = _timer(message)
        if timer is None or timer.node not in self._flow.definition.nodes:
            event = LogEvent("", f"nothing in this flow waits for {message.body!r}", "warning")
            self._units.complete([Outcome(Result.DONE, [], [event])])
        elif self._expire(timer) is Step.BACK_OUT:
            self._stop.wait(_INTERVAL)

    def _look(self) -> None:
        resources, now = self._units.resources, time.monotonic()
        due = self._flow.due(datetime.now(), resources)
        self._told = {timer: self._told[timer] for timer in due if timer in self._told}
        for timer in due:
            if now - self._told.get(timer, -_AGAIN) >= _AGAIN:
                self._told[timer] = now
                self._producer.send(_message(timer))
        if resources.aggregation is not None and time.time() - self._forgotten > _FORGET_EVERY:
            self._forgotten = time.time()
            resources.aggregation.forget(self._forgotten - _KEPT)
            resources.aggregation.commit()

    def _expire(self, timer: Timer) -> Step:
        """Send on what has timed out; it is tried until it can be done."""
        known = self._units.refusals.take(timer)
        outcome = self._flow.expire(timer, datetime.now(), self._units.resources, known)
        return self._units.complete([outcome], lambda _: timer, known)

    def close(self) -> None:
        """Give back what was fetched ahead."""
        self._consumer.close()


def _message(timer: Timer) -> Message:
    body = json.dumps({"node": timer.node, "kind": timer.kind, "key": timer.key.hex(), "occasion": uuid4().hex})
    return Message(body)


def _timer(message: Message) -> Timer | None:
    try:
        said = json.loads(message.body)
        return Timer(said["node"], said["kind"], bytes.fromhex(said["key"]), bytes.fromhex(said["occasion"]))
    except (MessageFormat, KeyError, TypeError, ValueError):
        return None
