"""What the log is told of queues, their messages aside."""

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
"""The log has times of queues in milliseconds."""
DELIVERIES_ROW = struct.Struct("<IQI")
"""Number of the cursor, offset of the message, failed deliveries."""


def queue_record(definition: QueueDefinition, cursor: int, bindings: list[dict[str, Any]]) -> ApplicationRecord:
    """All that is known of a queue; the cursor is 0 for an alias or a model."""
    fact = {
        "queue": definition.name,
        "cursor": cursor,
        "definition": {**dataclasses.asdict(definition), "max_ttl": definition.max_ttl_ms},
        "bindings": bindings,
    }
    return record_kinds.QUEUE, record_kinds.as_json(fact)


def queue_gone_record(name: str) -> ApplicationRecord:
    """There is nothing behind this name any more."""
    return record_kinds.QUEUE_GONE, record_kinds.as_json({"queue": name})


class QueueRecords:
    """What the log says of queues, while it is read."""

    def __init__(self) -> None:
        self._by_name: dict[str, dict[str, Any]] = {}
        self.records: dict[str, Record] = {}
        """Where all of that stands, by name."""
        self._failed: dict[int, dict[int, int]] = {}
        """By cursor and offset: how many deliveries have failed."""

    def take(self, record: Record) -> bool:
        """Take up a fact, if it is about queues."""
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
        """Know nothing of a queue any more."""
        fact = self._by_name.pop(name, {"cursor": 0})
        self.records.pop(name, None)
        self._failed.pop(fact["cursor"], None)

    def names(self) -> list[str]:
        """All that there is."""
        return list(self._by_name)

    def definition(self, name: str) -> tuple[QueueDefinition, int]:
        """What is defined under a name, and the number of the cursor; a Problem if it makes no sense."""
        fact = self._by_name[name]
        attributes = fact["definition"]
        definition = QueueDefinition(**{**attributes, "max_ttl": _seconds(attributes.get("max_ttl", 0))})
        if definition.name != name:
            raise MalformedObject(f"expected the definition of queue {name}, found that of {definition.name}")
        return definition, fact["cursor"]

    def bindings(self, name: str) -> list[dict[str, Any]]:
        """What a queue is bound to."""
        found: list[dict[str, Any]] = self._by_name[name]["bindings"]
        return found

    def failed(self, cursor: Cursor) -> dict[int, int]:
        """Failed deliveries of messages that are still there, by offset."""
        known = self._failed.get(cursor.number, {})
        return {offset: deliveries for offset, deliveries in known.items() if cursor.is_pending(offset)}


def _seconds(milliseconds: Any) -> float:
    if not is_number(milliseconds, int) or abs(milliseconds) > _MILLISECONDS * LONGEST_LIFE:
        raise MalformedObject(f"max_ttl: expected milliseconds, found {shown_value(milliseconds)}")
    return float(milliseconds / _MILLISECONDS)
