"""Transactions of a client: each is a unit of work, begun and ended by messages to a coordinator."""

from functools import partial
from typing import TYPE_CHECKING

from heliograph.amqp import Declared, Delivery, Discharge, Error, ProtocolError, Receiver, Rejected, conditions
from heliograph.amqp.messages import transaction_request
from heliograph.broker.amqp.departure import Departure
from heliograph.broker.amqp.states import TAKEN, rejection
from heliograph.broker.core.memory import Account
from heliograph.broker.queues.outcome import LOST
from heliograph.broker.queues.refusal import Refusal, Refused
from heliograph.broker.queues.unit_of_work import Work

if TYPE_CHECKING:
    from heliograph.broker.amqp.connection import AmqpConnection
    from heliograph.broker.queues.queues import Queues

_CREDIT = 100
_REJECTED = "amqp:rejected:list"


class Transactions:
    """The open transactions of one connection."""

    __slots__ = ("_last", "_queues", "open")

    def __init__(self, queues: "Queues") -> None:
        self._queues = queues
        self._last = 0
        self.open: dict[bytes, Work] = {}

    def begin(self, account: Account) -> bytes:
        """A new transaction, charged to an account; Refused if there is no memory for it."""
        self._last += 1
        txn_id = self._last.to_bytes(8, "big")
        self.open[txn_id] = self._queues.begin(account=account)
        return txn_id

    def roll_back(self, txn_id: bytes) -> None:
        """The client is gone without a word on this one: as if nothing of it had happened, unless it has ended."""
        work = self.open.pop(txn_id, None)
        if work is not None:
            work.roll_back(LOST)

    def roll_back_all(self) -> None:
        """The client is gone."""
        for txn_id in list(self.open):
            self.roll_back(txn_id)


def unknown_transaction(txn_id: bytes) -> Rejected:
    """The answer to those who name a transaction that is not open."""
    text = f"there is no open transaction {txn_id.hex()}"
    return Rejected(error=Error(condition=conditions.TRANSACTION_UNKNOWN_ID, description=text))


class Coordination:
    """A link to the coordinator: its transactions end with it at the latest."""

    __slots__ = ("_connection", "_link", "_mine")

    def __init__(self, connection: "AmqpConnection", link: Receiver) -> None:
        self._connection = connection
        self._link = link
        self._mine: set[bytes] = set()
        link.flow(_CREDIT)

    def take(self, deliveries: list[Delivery]) -> None:
        """Requests have come. They are handled in order, though a commit is answered only when it is safe."""
        for delivery in deliveries:
            self._take_one(delivery)
        if self._link.credit <= _CREDIT // 2:
            self._link.flow(_CREDIT)

    def _take_one(self, delivery: Delivery) -> None:
        try:
            asked = transaction_request(delivery.payload)
        except ProtocolError as error:
            self._refuse(delivery, Refusal(error.condition, str(error)))
            return
        if isinstance(asked, Discharge):
            self._discharge(delivery, asked)
        elif asked.global_id is not None:
            self._refuse(delivery, Refusal(conditions.NOT_IMPLEMENTED, "there are no global transactions here"))
        else:
            try:
                txn_id = self._connection.transactions.begin(self._connection.account)
            except Refused as error:
                self._refuse(delivery, error.refusal)
                return
            self._mine.add(txn_id)
            self._link.settle(delivery.number, delivery.number, Declared(txn_id=txn_id))

    def _discharge(self, delivery: Delivery, discharge: Discharge) -> None:
        txn_id = discharge.txn_id
        self._mine.discard(txn_id)
        work = self._connection.transactions.open.pop(txn_id, None)
        if work is None:
            self._reject(delivery, unknown_transaction(txn_id))
        elif discharge.fail:
            work.roll_back()
            self._link.settle(delivery.number, delivery.number, TAKEN)
        else:
            work.commit(partial(self._committed, delivery))

    def _committed(self, delivery: Delivery, refusal: Refusal | None) -> None:
        if refusal is None:
            self._link.settle(delivery.number, delivery.number, TAKEN)
        else:
            self._refuse(delivery, Refusal(conditions.TRANSACTION_ROLLBACK, refusal.text))
        self._connection.talk()

    def _refuse(self, delivery: Delivery, refusal: Refusal) -> None:
        self._reject(delivery, rejection(refusal))

    def _reject(self, delivery: Delivery, outcome: Rejected) -> None:
        source = self._link.source
        if source is not None and source.outcomes and _REJECTED not in source.outcomes:
            # The client has said that it would not understand: the standard's other way to tell it.
            self._link.detach(closed=True, error=outcome.error)
            self._connection.forget(self._link)
            self.gone(Departure.LOST)
        else:
            self._link.settle(delivery.number, delivery.number, outcome)

    def gone(self, how: Departure) -> bool:
        """The link is no more: what was not committed is rolled back."""
        for txn_id in self._mine:
            self._connection.transactions.roll_back(txn_id)
        self._mine.clear()
        return False
