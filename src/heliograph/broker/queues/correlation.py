"""An index of messages by correlation id, for consumers that wait for one answer."""

from collections.abc import Iterable
from typing import Any

from heliograph.amqp.messages import CORRELATION_ID
from heliograph.broker.core.memory import Account, Hold
from heliograph.broker.queues.entry import WAITING, Entry

_COST = 450
"""Bytes of memory of an entry in the index, without its identifier."""


def _cost_of(correlation_id: Any) -> int:
    return _COST + (len(correlation_id) if isinstance(correlation_id, str | bytes) else 0)


class CorrelationIndex:
    """The messages of one queue by correlation id. Payloads have to be in memory when entries are added."""

    def __init__(self, account: Account) -> None:
        """Memory is charged to this account."""
        self._hold = Hold(account)
        self._by_id: dict[Any, dict[Entry, None]] = {}
        self._id_of: dict[Entry, Any] = {}

    def add(self, entries: Iterable[Entry]) -> None:
        """Add entries. Those without a correlation id are left out."""
        size = 0
        for entry in entries:
            correlation_id = entry.message.fields[CORRELATION_ID]
            entry.parsed = None
            if correlation_id is not None:
                size += _cost_of(correlation_id)
                self._id_of[entry] = correlation_id
                self._by_id.setdefault(correlation_id, {})[entry] = None
        self._hold.set(self._hold.size + size)

    def forget(self, entries: Iterable[Entry]) -> None:
        """Remove entries that are no longer in the queue."""
        size = 0
        for entry in entries:
            correlation_id = self._id_of.pop(entry, None)
            if correlation_id is not None:
                size += _cost_of(correlation_id)
                same = self._by_id[correlation_id]
                del same[entry]
                if not same:
                    del self._by_id[correlation_id]
        self._hold.set(self._hold.size - size)

    def id_of(self, entry: Entry) -> Any:
        """The correlation id of an entry; None if it has none."""
        return self._id_of.get(entry)

    def waiting(self, correlation_id: Any) -> list[Entry]:
        """The waiting entries with this id."""
        return [entry for entry in self._by_id.get(correlation_id, ()) if entry.state == WAITING]
