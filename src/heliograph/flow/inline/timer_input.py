"""What a flow does because of the time: aggregations whose replies did not come.

What is due is not sent on at once: a message that says so is put into a queue of the flow's own, and that message is
taken like any other. So a time-out is part of a unit of work, and comes again if the process dies in it. If the message
was put twice, the second one finds nothing to do, because it is another occasion.
"""

import json
import threading
import time
from datetime import datetime
from uuid import uuid4

from heliograph.client import Message, MessageFormat
from heliograph.flow.engine.compiled_flow import CompiledFlow
from heliograph.flow.engine.node import Timer
from heliograph.flow.engine.outcome import LogEvent, Outcome, Result
from heliograph.flow.hosting import Step
from heliograph.flow.inline.server_output import flow_queue
from heliograph.flow.inline.units_of_work import UnitsOfWork

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
