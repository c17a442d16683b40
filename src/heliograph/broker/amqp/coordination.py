"""The coordinator: a link on which a client begins and ends its transactions, by messages."""

from functools import partial

from heliograph.amqp import Declared, Delivery, Discharge, ProtocolError, Receiver, Rejected, conditions
from heliograph.amqp.messages import transaction_request
from heliograph.broker.amqp.peer import AmqpPeer
from heliograph.broker.amqp.states import TAKEN, Departure, rejection
from heliograph.broker.amqp.transactions import unknown_transaction
from heliograph.broker.errors import Refusal, Refused

_CREDIT = 100
_REJECTED = "amqp:rejected:list"


class Coordination:
    """A link to the coordinator: its transactions end with it at the latest."""

    __slots__ = ("_connection", "_link", "_mine")

    def __init__(self, connection: AmqpPeer, link: Receiver) -> None:
        self._connection = connection
        self._link = link
        self._mine: set[bytes] = set()
        link.flow(_CREDIT)

    def take(self, deliveries: list[Delivery]) -> None:
        """Handle requests in order. A commit is answered only when it is safe."""
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
        """The link has ended: roll back what was not committed."""
        for txn_id in self._mine:
            self._connection.transactions.roll_back(txn_id)
        self._mine.clear()
        return False
