"""Messages from a client: put as they come and answered when they are safe, several at a time."""

from functools import partial
from itertools import groupby

from heliograph.amqp import Delivery, DeliveryState, Receiver, TransactionalState
from heliograph.broker.amqp.peer import AmqpPeer
from heliograph.broker.amqp.states import TAKEN, Departure, rejection
from heliograph.broker.amqp.targets import PutTarget, put_run
from heliograph.broker.amqp.transactions import unknown_transaction
from heliograph.broker.queues.refusal import Put
from heliograph.broker.queues.unit_of_work import UnitOfWork

CREDIT = 2_000
"""Messages that a client may send before it hears more; as many can be on their way to the disk."""


class Incoming:
    """A link on which a client sends."""

    __slots__ = ("connection", "link", "place")

    def __init__(self, connection: AmqpPeer, link: Receiver, place: PutTarget) -> None:
        self.connection = connection
        self.link = link
        self.place = place
        link.flow(CREDIT)

    def take(self, deliveries: list[Delivery]) -> None:
        """Handle several messages."""
        connection, link = self.connection, self.link
        connection.broker.stats.messages_received += len(deliveries)
        number, settled = deliveries[0].number, deliveries[0].settled
        for delivery in deliveries:
            if delivery.state is not None or delivery.settled is not settled or delivery.number != number:
                self._take_mixed(deliveries)
                break
            number += 1
        else:
            self._take_alike(deliveries, None, None)
        if link.credit <= CREDIT // 2:
            link.flow(CREDIT)

    def _take_mixed(self, deliveries: list[Delivery]) -> None:
        """Some are settled or belong to transactions, and some do not: those in a row that are alike are a run."""
        numbered = enumerate(deliveries)
        for (settled, state, _), run in groupby(numbered, lambda pair: (*pair[1][3:5], pair[1].number - pair[0])):
            alike = [delivery for _, delivery in run]
            self.connection.in_order(partial(self._take_run, alike, state, settled=settled))

    def _take_run(self, alike: list[Delivery], state: DeliveryState | None, *, settled: bool) -> None:
        if not isinstance(state, TransactionalState):
            self._take_alike(alike, None, None)
            return
        work = self.connection.transactions.open.get(state.txn_id)
        if work is not None:
            self._take_alike(alike, work, state.txn_id)
        elif not settled:
            self.link.settle(alike[0].number, alike[-1].number, unknown_transaction(state.txn_id))

    def _take_alike(self, run: list[Delivery], work: UnitOfWork | None, txn_id: bytes | None) -> None:
        """Put messages that are all settled or all not, in one unit of work or in none."""
        put = put_run(self.place, [delivery.payload for delivery in run], work)
        if isinstance(put, Put):
            self._answer(run, put, txn_id)
        else:
            self.connection.put_in_steps(put, lambda done: self._answer(run, done, txn_id))

    def _answer(self, run: list[Delivery], put: Put, txn_id: bytes | None) -> None:
        if not run[0].settled:
            first = run[0].number
            begin = 0
            for index in sorted(put.refused) if put.refused else ():
                self._accept(first + begin, first + index - 1, put, txn_id)
                self.link.settle(first + index, first + index, rejection(put.refused[index]))
                begin = index + 1
            self._accept(first + begin, first + len(run) - 1, put, txn_id)
        if put.stored and self.connection.broker.store is not None:
            self.connection.broker.store.pause_if_behind(self.connection.outlet)

    def _accept(self, first: int, last: int, put: Put, txn_id: bytes | None) -> None:
        if first > last:
            return
        state: DeliveryState = TAKEN if txn_id is None else TransactionalState(txn_id=txn_id, outcome=TAKEN)
        if put.stored:
            self.connection.answer_when_safe(self.link, first, last, state)
        else:
            self.link.settle(first, last, state)

    def gone(self, how: Departure) -> bool:
        """The link has ended. Messages that were put stay."""
        return False
