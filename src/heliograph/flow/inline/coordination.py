"""Messages and databases committed together: two phases, with the server's unit of work as the decision.

1. the unit of work takes the token and puts its own number as the new one;
2. the databases are prepared, under that number;
3. the server commits (messages taken, messages put, token);
4. the databases are committed.

After a crash, or if the answer to 3. is lost, the token tells whether 3. has happened
(docs/design/flow-transactions.md).
"""

import logging
import time
from collections.abc import Callable

from heliograph.client import (
    ConnectionLost,
    Message,
    MessagingProblem,
    Session,
    TransactionInDoubt,
    TransactionRolledBack,
)
from heliograph.client.management import management
from heliograph.flow.engine.database.two_phase import TwoPhase
from heliograph.flow.errors import DatabaseError, FlowStopped
from heliograph.flow.inline.server_output import flow_queue

# The token of an instance: a message that says which unit of work was the last one that the server committed.
#
# Each coordinated unit of work takes the token with the number of the unit before it and puts one with its own number.
# So there is always exactly one token, and its holder knows the outcome of every unit: no other unit can be committed
# while it holds the token.

_WAIT = 1.0


class UnitToken:
    """The token of one instance, in a queue of its own."""

    def __init__(self, work: Session, asking: Session, flow: str, instance: str) -> None:
        """`work` is the session of the units of work; `asking` is for questions to the server."""
        self._queue = flow_queue(asking, flow, instance, "UNITS")
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
        raise FlowStopped(f"the token in {self._queue} is held by another unit of work")

    def put(self, unit: int) -> None:
        """This unit, if it is committed, is the last."""
        self._producer.send(Message(str(unit), properties={"time": time.time()}))


LOG = logging.getLogger("heliograph.flow")
_PAUSE = 0.5


class Coordination:
    """The coordinated units of work of one instance."""

    def __init__(self, phases: TwoPhase, token: UnitToken, given_up: Callable[[], bool]) -> None:
        """`given_up` says if there is no time left to wait for anybody."""
        self._phases = phases
        self._token = token
        self._given_up = given_up

    def recover(self, work: Session) -> None:
        """Finish what the last run has left, before anything else is done."""
        self._phases.check()
        last = self._token.take(self._given_up)
        for name, committed in self._phases.recover(last).items():
            LOG.warning("%s was in doubt and is %s now", name, "committed" if committed else "rolled back")
        work.rollback(blame=False)

    def commit(self, work: Session) -> None:
        """Commit a unit of work that has changes in databases. `TransactionRolledBack` if nothing of it was done."""
        unit = self._token.take(self._given_up) + 1
        self._token.put(unit)
        used = self._phases.prepare(unit)
        try:
            work.commit()
            committed = True
        except TransactionInDoubt as doubt:
            LOG.warning("unit %d of work is in doubt: %s", unit, doubt)
            committed = self._decision(work, unit)
        except MessagingProblem as problem:
            self._finish(unit, used, commit=False)
            raise TransactionRolledBack(str(problem)) from problem
        self._finish(unit, used, commit=committed)
        if not committed:
            lost = ConnectionLost("the connection to the server was lost before it committed")
            raise TransactionRolledBack(str(lost)) from lost

    def _decision(self, work: Session, unit: int) -> bool:
        """Whether the server has committed: the token says so, and while it is held here nobody else can commit."""
        last = self._token.take(self._given_up)
        work.rollback(blame=False)
        return last >= unit

    def _finish(self, unit: int, used: list[str], *, commit: bool) -> None:
        """Finish a decided unit; wait for databases that cannot be reached now."""
        while True:
            try:
                self._phases.finish(unit, used, commit=commit)
            except DatabaseError as problem:
                if self._given_up():
                    raise
                LOG.warning("waiting for a database, to finish unit %d of work: %s", unit, problem)
                time.sleep(_PAUSE)
            else:
                return
