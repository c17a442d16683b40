"""Rows as `format("heliograph")` gives them, made without a server."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("stream", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("topic", pa.string()),
        ("payload", pa.binary()),
        ("qos", pa.int32()),
        ("retain", pa.bool_()),
        ("content_type", pa.string()),
        ("correlation", pa.binary()),
        ("reply_to", pa.string()),
        ("properties", pa.map_(pa.string(), pa.string())),
        ("message_id", pa.string()),
        ("text", pa.bool_()),
        ("expiry", pa.int64()),
    ]
)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def stream_rows(messages: Sequence[bytes | dict[str, Any]], partition: int = 0) -> pa.RecordBatch:
    """A batch of messages: payloads, or what is not usual of them by column."""
    rows = []
    for offset, message in enumerate(messages):
        given = {"payload": message} if isinstance(message, bytes) else dict(message)
        given["properties"] = list((given.get("properties") or {}).items()) or None
        usual = {
            "stream": "s",
            "partition": partition,
            "offset": offset,
            "timestamp": NOON,
            "topic": "t",
            "qos": 1,
            "retain": False,
            "message_id": f"s/{partition}/{offset}",
        }
        rows.append({**usual, **given})
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def as_rows(batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    """All rows, with properties as a mapping."""
    rows = [row for batch in batches for row in batch.to_pylist()]
    return [{**row, "properties": dict(row["properties"] or ())} for row in rows]
