"""Records of queues in the log: definitions, bindings and failed deliveries, but not messages."""

import dataclasses
import json
import struct
from typing import Any

from heliograph.broker.core.queue_definition import LONGEST_LIFE, QueueDefinition
from heliograph.broker.errors import MalformedObject
from heliograph.broker.storage import record_kinds
from heliograph.log import ApplicationRecord, Cursor, Record
from heliograph.objects import is_number, shown_value

_MILLISECONDS = 1000
"""Records have times in milliseconds."""
DELIVERIES_ROW = struct.Struct("<IQI")
"""Number of the cursor, offset of the message, failed deliveries."""


def queue_record(definition: QueueDefinition, cursor: int, bindings: list[dict[str, Any]]) -> ApplicationRecord:
    """The record of a queue's whole state; the cursor is 0 for an alias or a model."""
    fact = {
        "queue": definition.name,
        "cursor": cursor,
        "definition": {**dataclasses.asdict(definition), "max_ttl": definition.max_ttl_ms},
        "bindings": bindings,
    }
    return record_kinds.QUEUE, record_kinds.as_json(fact)


def queue_gone_record(name: str) -> ApplicationRecord:
    """The record of a deleted queue."""
    return record_kinds.QUEUE_GONE, record_kinds.as_json({"queue": name})


class QueueRecords:
    """The state of all queues while the log is read."""

    def __init__(self) -> None:
        self._by_name: dict[str, dict[str, Any]] = {}
        self.records: dict[str, Record] = {}
        """The last record of each queue, by name."""
        self._failed: dict[int, dict[int, int]] = {}
        """Number of failed deliveries, by cursor and offset."""

    def take(self, record: Record) -> bool:
        """Take a record; False if it is not about queues."""
        if record.kind == record_kinds.QUEUE:
            fact = json.loads(record.body)
            if not isinstance(fact["cursor"], int):
                raise MalformedObject(f"expected the number of a cursor, found {fact['cursor']!r}")
            self._by_name[fact["queue"]] = fact
            self.records[fact["queue"]] = record
        elif record.kind == record_kinds.QUEUE_GONE:
            self.forget(json.loads(record.body)["queue"])
        elif record.kind == record_kinds.DELIVERIES:
            for cursor, offset, deliveries in DELIVERIES_ROW.iter_unpack(record.body):
                self._failed.setdefault(cursor, {})[offset] = deliveries
        else:
            return False
        return True

    def forget(self, name: str) -> None:
        """Drop the state of a queue."""
        fact = self._by_name.pop(name, {"cursor": 0})
        self.records.pop(name, None)
        self._failed.pop(fact["cursor"], None)

    def names(self) -> list[str]:
        """The names of all queues."""
        return list(self._by_name)

    def definition(self, name: str) -> tuple[QueueDefinition, int]:
        """The definition of a queue and the number of its cursor; a Problem if the record makes no sense."""
        fact = self._by_name[name]
        attributes = fact["definition"]
        definition = QueueDefinition(**{**attributes, "max_ttl": _seconds(attributes.get("max_ttl", 0))})
        if definition.name != name:
            raise MalformedObject(f"expected the definition of queue {name}, found that of {definition.name}")
        return definition, fact["cursor"]

    def bindings(self, name: str) -> list[dict[str, Any]]:
        """The bindings of a queue, as in its record."""
        found: list[dict[str, Any]] = self._by_name[name]["bindings"]
        return found

    def failed(self, cursor: Cursor) -> dict[int, int]:
        """The number of failed deliveries of messages that are still pending, by offset."""
        known = self._failed.get(cursor.number, {})
        return {offset: deliveries for offset, deliveries in known.items() if cursor.is_pending(offset)}


def _seconds(milliseconds: Any) -> float:
    if not is_number(milliseconds, int) or abs(milliseconds) > _MILLISECONDS * LONGEST_LIFE:
        raise MalformedObject(f"max_ttl: expected milliseconds, found {shown_value(milliseconds)}")
    return float(milliseconds / _MILLISECONDS)
