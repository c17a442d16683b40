"""Transactions of a client: each is a unit of work, begun and ended by messages to a coordinator (`coordination`)."""

from heliograph.amqp import Error, Rejected, conditions
from heliograph.broker.core.memory import Account
from heliograph.broker.queues.consumer import LOST
from heliograph.broker.queues.queues import Queues
from heliograph.broker.queues.unit_of_work import UnitOfWork


class Transactions:
    """The open transactions of one connection."""

    __slots__ = ("_last", "_queues", "open")

    def __init__(self, queues: Queues) -> None:
        self._queues = queues
        self._last = 0
        self.open: dict[bytes, UnitOfWork] = {}

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
