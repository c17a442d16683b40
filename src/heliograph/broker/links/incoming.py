"""Messages from a client: put in runs as they come, answered in runs when they are safe."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from heliograph.amqp.events import Delivery
from heliograph.amqp.performatives import Accepted, DeliveryState, TransactionalState
from heliograph.amqp.receiver import Receiver
from heliograph.broker.links.departure import Departure
from heliograph.broker.links.putting import Place, put_run
from heliograph.broker.links.states import TAKEN, rejection
from heliograph.broker.links.transactions import unknown_transaction
from heliograph.broker.queues.refusal import Put
from heliograph.broker.queues.work import Work

if TYPE_CHECKING:
    from heliograph.broker.links.connection import AmqpConnection

CREDIT = 2_000
"""Messages that a client may send before it hears more; as many can be on their way to the disk."""


class Incoming:
    """A link on which a client sends."""

    __slots__ = ("connection", "link", "place")

    def __init__(self, connection: "AmqpConnection", link: Receiver, place: Place) -> None:
        self.connection = connection
        self.link = link
        self.place = place
        link.flow(CREDIT)

    def take(self, deliveries: list[Delivery]) -> None:
        """A run of messages has come."""
        self.connection.broker.stats.messages_received += len(deliveries)
        for delivery in deliveries:
            if delivery.state is not None:
                self._take_with_states(deliveries)
                break
        else:
            self._answer(deliveries, self._put(deliveries, None), None)
        if self.link.credit <= CREDIT // 2:
            self.link.flow(CREDIT)

    def _take_with_states(self, deliveries: list[Delivery]) -> None:
        """Some of these belong to transactions: each run that belongs to one is put as a run."""
        for state, run in groupby(deliveries, lambda delivery: delivery.state):
            some = list(run)
            if not isinstance(state, TransactionalState):
                self._answer(some, self._put(some, None), None)
                continue
            work = self.connection.transactions.open.get(state.txn_id)
            if work is None:
                self._settle(some, 0, len(some), unknown_transaction(state.txn_id))
            else:
                self._answer(some, self._put(some, work), state.txn_id)

    def _put(self, run: list[Delivery], work: Work | None) -> Put:
        return put_run(self.place, [delivery.payload for delivery in run], work)

    def _answer(self, run: list[Delivery], put: Put, txn_id: bytes | None) -> None:
        begin = 0
        for index in sorted(put.refused):
            self._accept(run, begin, index, put, txn_id)
            self._settle(run, index, index + 1, rejection(put.refused[index]))
            begin = index + 1
        self._accept(run, begin, len(run), put, txn_id)
        if put.stored and self.connection.broker.store is not None:
            self.connection.broker.store.pause_if_behind(self.connection.outlet)

    def _accept(self, run: list[Delivery], begin: int, end: int, put: Put, txn_id: bytes | None) -> None:
        if begin == end:
            return
        state: DeliveryState = TAKEN if txn_id is None else TransactionalState(txn_id=txn_id, outcome=Accepted())
        if not put.stored:
            self._settle(run, begin, end, state)
            return
        for first, last in _unsettled(run, begin, end):
            self.connection.answer_when_safe(self.link, first, last, state)

    def _settle(self, run: list[Delivery], begin: int, end: int, state: DeliveryState) -> None:
        for first, last in _unsettled(run, begin, end):
            self.link.settle(first, last, state)

    def gone(self, how: Departure) -> bool:
        """The link is no more: what was put stays."""
        return False


def _unsettled(run: list[Delivery], begin: int, end: int) -> Sequence[tuple[int, int]]:
    """Ranges of delivery numbers that the client wants to hear of. Nearly always all of them, or none."""
    first, last = run[begin].number, run[end - 1].number
    settled = run[begin].settled
    if last - first == end - begin - 1:
        for delivery in run[begin:end]:
            if delivery.settled is not settled:
                break
        else:
            return () if settled else ((first, last),)
    return [(delivery.number, delivery.number) for delivery in run[begin:end] if not delivery.settled]
