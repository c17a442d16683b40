"""What Spark calls to read from a broker.

The reader lives in a process of its own for as long as the query runs; there it receives. It is also made in other
processes, which only read segments. So it connects when it is first asked what is there, and never before.

Spark keeps this in its checkpoint: {"segment": 12, "tasks": 2}, the number behind the last segment, and how many tasks
were wanted when that was said: a batch that is run again after a failure, perhaps on another machine, is cut as it was
the first time, because a sink may know its rows by task and number. Older checkpoints do not have `tasks`.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from heliograph.pipeline.errors import SpoolDamaged
from heliograph.pipeline.source.schema import arrow_schema, check_columns, columns_in, stream_schema
from heliograph.pipeline.spark_errors import plain_errors
from heliograph.pipeline.spool.options import SpoolOptions, spool_options
from heliograph.pipeline.spool.receiver import Receiver, client_id_of
from heliograph.pipeline.spool.segments import read_segment, segment_file, segment_numbers

_SMALL = 1 << 20
"""Bytes that are not worth a task of their own."""
_BATCH_ROWS = 10_000


def spool_schema(options: Mapping[str, str]) -> StructType:
    """The columns: those of a stream, of which `stream` is the client id and `offset` counts the messages."""
    spool_options(options)
    return stream_schema("binary")


def spool_reader(schema: StructType, options: Mapping[str, str]) -> "SpoolReader":
    """For `spark.readStream`."""
    check_columns(schema, columns_in(spool_schema(options)))
    return SpoolReader(schema, spool_options(options))


@dataclass
class Segments(InputPartition):
    """Segments that one task reads: from a number up to another."""

    first: int
    end: int


@plain_errors
class SpoolReader(DataSourceStreamReader):
    """Reads segments; in the process of the query it also receives."""

    def __init__(self, schema: StructType, options: SpoolOptions) -> None:
        self._schema = schema
        self._options = options
        self._receiver: Receiver | None = None

    @property
    def _directory(self) -> Path:
        return Path(self._options.spool)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_receiver": None}

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """The oldest segment that is there."""
        numbers = segment_numbers(self._directory) if self._directory.exists() else []
        return _offset(numbers[0] if numbers else 0)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Behind the newest segment with messages. The first call connects to the broker."""
        if self._receiver is None:
            self._receiver = Receiver(self._options)
        self._receiver.check()
        end = self._receiver.spool.end
        if start["segment"] > end:
            raise SpoolDamaged(
                f"the checkpoint has read {self._directory} up to segment {start['segment']}, but there are segments "
                f"up to {end} only; expected the directory that belongs to the checkpoint as option spool"
            )
        # What is the same must look the same: Spark compares the text.
        return start if start["segment"] == end else _offset(end)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Segments]:
        """Neighbouring segments together, about as much for each task. The same offsets are always cut alike."""
        numbers = range(start["segment"], end["segment"])
        sizes = [_size(segment_file(self._directory, number)) for number in numbers]
        share = max(_SMALL, -(-sum(sizes) // end.get("tasks", _tasks())))
        found: list[Segments] = []
        first, gathered = start["segment"], 0
        for number, size in zip(numbers, sizes, strict=True):
            gathered += size
            if gathered >= share:
                found.append(Segments(first, number + 1))
                first, gathered = number + 1, 0
        if first < end["segment"]:
            found.append(Segments(first, end["segment"]))
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of some segments; small ones are put together."""
        assert isinstance(partition, Segments)
        wanted, client_id = arrow_schema(self._schema), client_id_of(self._directory)
        waiting: list[pa.RecordBatch] = []
        rows = 0
        for number in range(partition.first, partition.end):
            facts, stored = read_segment(self._directory, number)
            if facts.rows:
                waiting.append(_completed(stored, wanted, client_id, facts.first))
                rows += facts.rows
            if rows >= _BATCH_ROWS:
                yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
                waiting, rows = [], 0
        if waiting:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()

    def commit(self, end: dict[str, int]) -> None:
        """Delete segments before this one: Spark has committed them."""
        if self._receiver is not None:
            self._receiver.spool.delete_before(end["segment"])

    def stop(self) -> None:
        """Stop receiving and release the spool."""
        if self._receiver is not None:
            self._receiver.stop()
            self._receiver = None


def _tasks() -> int:
    """How many tasks are worth having on this machine."""
    return os.cpu_count() or 1


def _offset(segment: int) -> dict[str, int]:
    return {"segment": segment, "tasks": _tasks()}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        raise SpoolDamaged(
            f"{path}: expected a segment of the spool, found none; did another query commit it?"
        ) from None


def _completed(stored: pa.RecordBatch, wanted: pa.Schema, client_id: str, first: int) -> pa.RecordBatch:
    """The wanted columns, with those that a segment does not have."""
    count = stored.num_rows

    def column(field: pa.Field) -> pa.Array:
        match field.name:
            case "stream":
                return pa.repeat(pa.scalar(client_id, field.type), count)
            case "partition":
                return pa.repeat(pa.scalar(0, field.type), count)
            case "offset":
                return pa.array(range(first, first + count), field.type)
            case "message_id":
                own = stored.column("message_id")
                places = pa.array([f"{client_id}/{number}" for number in range(first, first + count)])
                return places if own.null_count == count else pa.compute.coalesce(own, places)
        return stored.column(field.name).cast(field.type)

    return pa.RecordBatch.from_arrays([column(field) for field in wanted], schema=wanted)
