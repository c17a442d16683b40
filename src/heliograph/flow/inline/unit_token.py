"""The token of an instance: a message that says which unit of work was the last one that the server committed.

Each coordinated unit of work takes the token with the number before it and puts one with its own. So there is always
one token, and whoever holds it knows what became of every unit: none can be committed any more but the one that has it.
"""

import time
from collections.abc import Callable

from heliograph.client import Message
from heliograph.client.blocking import Session
from heliograph.client.management import management
from heliograph.errors import Problem
from heliograph.flow.inline.own_queue import own_queue

_WAIT = 1.0


class UnitToken:
    """The token of one instance, in a queue of its own."""

    def __init__(self, work: Session, asking: Session, flow: str, instance: str) -> None:
        """`work` is the session of the units of work; `asking` is for questions to the server."""
        self._queue = own_queue(asking, flow, instance, "UNITS")
        state = management(asking, "queue-show", name=self._queue)
        if not state["depth"] and not state["in_flight"]:
            asking.producer(self._queue).send("0")
        self._consumer = work.consumer(self._queue, prefetch=1)
        self._producer = work.producer(self._queue)

    def take(self, given_up: Callable[[], bool]) -> int:
        """The number of the last unit that was committed; the token belongs to the current unit of work from now on.

        While another unit of work holds it, this waits: the server undoes what belongs to a lost connection.
        """
        while not given_up():
            message = self._consumer.receive(_WAIT)
            if message is not None:
                return int(message.body)
        raise Problem(f"the token in {self._queue} is held by another unit of work")

    def put(self, unit: int) -> None:
        """This unit, if it is committed, is the last."""
        self._producer.send(Message(str(unit), properties={"time": time.time()}))
