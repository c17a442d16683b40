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

    __slots__ = ("_flags", "_has_properties", "_payloads", "_properties", "_times", "_topics", "size")

    def __init__(self) -> None:
        self._times: list[int] = []
        self._topics: list[bytes] = []
        self._payloads: list[bytes] = []
        self._flags: list[int] = []
        self._properties: list[MessageProperties] = []
        self._has_properties = False
        self.size = 0
        """About how many bytes they are."""

    def __len__(self) -> int:
        return len(self._topics)

    def add(self, time: int, topic: bytes, payload: bytes, flags: int, properties: MessageProperties) -> None:
        """A message that came at a time (microseconds since 1970); `flags` are those of its PUBLISH."""
        self._times.append(time)
        self._topics.append(topic)
        self._payloads.append(payload)
        self._flags.append(flags)
        self._properties.append(properties)
        self._has_properties = self._has_properties or properties is not NO_PROPERTIES
        self.size += len(payload) + len(topic)

    def batch(self) -> pa.RecordBatch:
        """All of them as one batch."""
        count = len(self)
        columns: dict[str, Any] = {
            "timestamp": pa.array(self._times, _MICROSECONDS),
            "topic": pa.array(self._topics, pa.binary()).cast(pa.string()),
            "payload": pa.array(self._payloads, pa.binary()),
            "qos": pa.array([flags >> 1 & 3 for flags in self._flags], pa.int32()),
            "retain": pa.array([flags & 1 == 1 for flags in self._flags], pa.bool_()),
        }
        for name in _OF_PROPERTIES:
            kind = STORED.field(name).type
            if self._has_properties:
                columns[name] = pa.array([getattr(one, name) for one in self._properties], kind)
            else:
                columns[name] = pa.nulls(count, kind)
        return pa.RecordBatch.from_arrays([columns[name] for name in STORED.names], schema=STORED)
