"""What Spark calls when a DataFrame is written: writers for batch and for streaming.

Spark pickles a writer on the driver, calls `write` in a worker once for each partition, and `commit` or `abort` on the
driver. It repeats tasks that fail, and may run a task twice. `write` therefore publishes for itself, exactly once per
part (query or job, batch, partition), as `units` describes. `commit` has nothing to publish; it only deletes progress
that nobody will ask for again.
"""

import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    DataSourceStreamWriter,
    DataSourceWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from heliograph.errors import Problem
from heliograph.pipeline.errors import InvalidOption
from heliograph.pipeline.sink.columns import used_columns
from heliograph.pipeline.sink.options import SinkOptions, sink_options
from heliograph.pipeline.sink.part import BATCH, QUERY
from heliograph.pipeline.spark_errors import plain_errors

if TYPE_CHECKING:
    from pyarrow import RecordBatch

log = logging.getLogger(__name__)

_MANY_PARTITIONS = 50
_WAITS_FOR_PARTITIONS = (
    "each batch of this query has more than %d partitions, and each of these is a task: results wait for all of them. "
    "On one machine, set spark.sql.shuffle.partitions to the number of cores, before the query has a checkpoint."
)


@dataclass(frozen=True)
class Published(WriterCommitMessage):
    """What a task has published, for `commit`."""

    rows: int
    queue: str = ""
    """Where the server keeps its progress; empty if the task had nothing to do."""


def batch_writer(schema: StructType, overwrite: bool, options: Mapping[str, str]) -> DataSourceWriter:
    """For `df.write`."""
    if overwrite:
        raise InvalidOption('messages cannot be overwritten; expected mode("append"), found mode("overwrite")')
    checked = sink_options(options, streaming=False)
    return BatchWriter(used_columns(schema, checked), checked)


def stream_writer(schema: StructType, overwrite: bool, options: Mapping[str, str]) -> DataSourceStreamWriter:
    """For `df.writeStream`; with output mode "complete" (`overwrite`), each batch publishes the whole result again."""
    checked = sink_options(options, streaming=True)
    return StreamWriter(used_columns(schema, checked), checked)


def _publish(
    columns: Sequence[str], options: SinkOptions, name: str, batch: int, batches: "Iterator[RecordBatch]"
) -> Published:
    from heliograph.pipeline.sink.part import Part
    from heliograph.pipeline.sink.publishing import Publishing
    from heliograph.pipeline.sink.upstream import upstream

    part = Part(name, batch, _task().partitionId())
    rows = Publishing(part, columns, options, upstream().check).publish(batches)
    return Published(rows, part.queue)


def _task() -> TaskContext:
    task = TaskContext.get()
    assert task is not None, "Spark calls writers within a task"
    return task


@plain_errors
class StreamWriter(DataSourceStreamArrowWriter):
    """Writer of micro-batches. The id in the checkpoint identifies the query across restarts."""

    def __init__(self, columns: Sequence[str], options: SinkOptions) -> None:
        self._columns = columns
        self._options = options

    def write(self, iterator: "Iterator[RecordBatch]") -> WriterCommitMessage:
        task = _task()
        query, batch = task.getLocalProperty(QUERY), task.getLocalProperty(BATCH)
        if query is None or batch is None:
            raise InvalidOption(
                "expected a streaming query, but Spark does not say which query and batch this task is of"
            )
        if batch == "0" and task.partitionId() == _MANY_PARTITIONS:
            log.warning(_WAITS_FOR_PARTITIONS, _MANY_PARTITIONS)
        return _publish(self._columns, self._options, query.replace("-", ""), int(batch), iterator)


@plain_errors
class BatchWriter(DataSourceArrowWriter):
    """Writer of whole DataFrames. A job is identified by its name; within `foreachBatch`, each batch is a part."""

    def __init__(self, columns: Sequence[str], options: SinkOptions) -> None:
        self._columns = columns
        self._options = options
        self._once = not options.job
        self._job = options.job or uuid.uuid4().hex

    def write(self, iterator: "Iterator[RecordBatch]") -> WriterCommitMessage:
        batch = _task().getLocalProperty(BATCH)
        return _publish(self._columns, self._options, self._job, 0 if batch is None else int(batch), iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Delete the progress of a job without a name: it is never repeated, so nobody asks for it."""
        queues = [each.queue for each in messages if isinstance(each, Published) and each.rows]
        if self._once and queues:
            from heliograph.pipeline.sink.progress import forget

            forget(self._options, queues)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Delete the progress of a failed job without a name. Failed tasks report no queue, so they are listed."""
        if not self._once:
            return
        from heliograph.pipeline.sink.progress import forget_job

        try:
            forget_job(self._options, self._job)
        except Problem as problem:  # the user is to be told why the job failed, and not this
            log.warning("cannot delete the progress of a failed job on the server: %s", problem)
