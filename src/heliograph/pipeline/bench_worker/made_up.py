"""`format("made-up")`: rows like those of a stream, out of nothing: as fast as Spark can take rows from Python.

A worker makes one Arrow batch, and hands it to Spark again and again. A source that reads something cannot be faster.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from heliograph.pipeline.source.schema import arrow_schema, stream_schema

_BATCH_BYTES = 4 << 20
"""As many as the source of streams reads for one batch."""
_BESIDE_PAYLOAD = 60
"""Bytes that the log has for a message apart from its payload, about."""
TOPIC, STREAM = "made/up", "made-up"
_NEVER = ("content_type", "correlation", "reply_to", "properties")


class MadeUp(DataSource):
    """Options: `rows`, `size` (bytes of a payload), `tasks`."""

    @classmethod
    def name(cls) -> str:
        return "made-up"

    def schema(self) -> StructType:
        return stream_schema("binary")

    def reader(self, schema: StructType) -> DataSourceReader:
        options = {name.lower(): int(value) for name, value in self.options.items()}
        return MadeUpReader(schema, options["rows"], options["size"], options["tasks"])


class MadeUpReader(DataSourceReader):
    """So many rows, shared out among tasks."""

    def __init__(self, schema: StructType, rows: int, size: int, tasks: int) -> None:
        self._schema = schema
        self._rows = rows
        self._size = size
        self._tasks = tasks

    def partitions(self) -> list[InputPartition]:
        """One for each task, with its number of rows."""
        return [
            InputPartition(self._rows * (n + 1) // self._tasks - self._rows * n // self._tasks)
            for n in range(self._tasks)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The same rows again and again."""
        left = partition.value
        batch = rows_like_messages(arrow_schema(self._schema), rows_at_once(self._size), self._size)
        while left:
            yield batch if batch.num_rows <= left else batch.slice(0, left)
            left -= min(left, batch.num_rows)


def rows_at_once(size: int) -> int:
    """Rows in a batch, for payloads of so many bytes."""
    return max(1, _BATCH_BYTES // (size + _BESIDE_PAYLOAD))


@lru_cache(4)
def rows_like_messages(schema: pa.Schema, rows: int, size: int) -> pa.RecordBatch:
    """A batch with the columns of a stream, as far as the schema has them."""
    values: dict[str, Sequence[object]] = {
        "stream": [STREAM] * rows,
        "partition": [0] * rows,
        "offset": list(range(rows)),
        "timestamp": [1_700_000_000_000_000] * rows,
        "topic": [TOPIC] * rows,
        "payload": [(b"%08d" % number).ljust(size, b".") for number in range(rows)],
        "qos": [1] * rows,
        "retain": [False] * rows,
        "message_id": [f"{STREAM}/0/{number}" for number in range(rows)],
        **{name: [None] * rows for name in _NEVER},
    }
    return pa.RecordBatch.from_arrays([pa.array(values[field.name], field.type) for field in schema], schema=schema)
