"""Messages gather as columns, until they become the rows of a segment."""

from typing import Any

import pyarrow as pa

from heliograph.pipeline.source.message_properties import NO_PROPERTIES, MessageProperties

_MICROSECONDS = pa.timestamp("us", tz="UTC")
STORED = pa.schema(
    [
        pa.field("timestamp", _MICROSECONDS, nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("payload", pa.binary(), nullable=False),
        pa.field("qos", pa.int32(), nullable=False),
        pa.field("retain", pa.bool_(), nullable=False),
        pa.field("content_type", pa.string()),
        pa.field("correlation", pa.binary()),
        pa.field("reply_to", pa.string()),
        pa.field("properties", pa.map_(pa.string(), pa.string())),
        pa.field("message_id", pa.string()),
    ]
)
"""The columns of a segment. Those that are missing follow from which segment it is."""
_OF_PROPERTIES = ("content_type", "correlation", "reply_to", "properties", "message_id")


class Rows:
    """Messages in the order in which they came."""

    __slots__ = ("_has_properties", "_payloads", "_properties", "_qos", "_retain", "_times", "_topics", "size")

    def __init__(self) -> None:
        self._times: list[int] = []
        self._topics: list[str] = []
        self._payloads: list[bytes] = []
        self._qos: list[int] = []
        self._retain: list[bool] = []
        self._properties: list[MessageProperties] = []
        self._has_properties = False
        self.size = 0
        """About how many bytes they are."""

    def __len__(self) -> int:
        return len(self._topics)

    def add(
        self, time: int, topic: str, payloads: list[bytes], qos: int, retain: bool, properties: MessageProperties
    ) -> None:
        """Messages on one topic that came at a time (microseconds since 1970)."""
        count = len(payloads)
        self._times += [time] * count
        self._topics += [topic] * count
        self._payloads += payloads
        self._qos += [qos] * count
        self._retain += [retain] * count
        self._properties += [properties] * count
        self._has_properties = self._has_properties or properties is not NO_PROPERTIES
        self.size += sum(map(len, payloads)) + count * len(topic)

    def batch(self) -> pa.RecordBatch:
        """All of them as one batch."""
        count = len(self)
        columns: dict[str, Any] = {
            "timestamp": pa.array(self._times, _MICROSECONDS),
            "topic": pa.array(self._topics, pa.string()),
            "payload": pa.array(self._payloads, pa.binary()),
            "qos": pa.array(self._qos, pa.int32()),
            "retain": pa.array(self._retain, pa.bool_()),
        }
        for name in _OF_PROPERTIES:
            kind = STORED.field(name).type
            if self._has_properties:
                columns[name] = pa.array([getattr(one, name) for one in self._properties], kind)
            else:
                columns[name] = pa.nulls(count, kind)
        return pa.RecordBatch.from_arrays([columns[name] for name in STORED.names], schema=STORED)
