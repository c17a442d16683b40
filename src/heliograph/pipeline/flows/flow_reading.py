"""`format("heliograph-flow")`: a stream that is read, sent through a flow and published, by one process for each task.

Most of the time of a small micro-batch is communication between Spark and its Python processes, and each step of a
query has its own process: reading, the flow, writing, and two more on the driver for the sink. If all outputs of a flow
are messages of the server, one process can do everything, because nothing is left for the driver to commit: messages
are published in units of work with a token of the task's progress (`pipeline.sink`), and a repeated task begins there.
Spark gets a row for each message that was read, so that its figures are right, and has nothing to write.
"""

import pickle
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from heliograph.pipeline.source.offsets import Piece, identity_in
from heliograph.pipeline.source.options import SourceOptions
from heliograph.pipeline.source.reading import SharePartition, StreamMicroBatchReader
from heliograph.pipeline.spark_errors import plain_errors

if TYPE_CHECKING:
    from heliograph.pipeline.flows.processing import FlowJob
    from heliograph.pipeline.sink.options import SinkOptions

NAME = "heliograph-flow"
_DONE = "done"


class FlowReading(DataSource):
    """A stream with a flow behind it. `start_flow` uses it; its option is made there."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return f"{_DONE} boolean"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        return FlowReader(*pickle.loads(bytes.fromhex(self.options["reading"])))  # noqa: S301 - our own


def reading_option(
    source: SourceOptions, columns: StructType, job: "FlowJob", server: "SinkOptions", *, one_task: bool
) -> str:
    """The option of a query: a stream with these columns, a flow, and where its messages go."""
    # Most processes of Spark that get this have no use for the flow, whose modules take a second to import.
    return pickle.dumps((source, columns, pickle.dumps((job, server)), one_task)).hex()


@plain_errors
class FlowReader(StreamMicroBatchReader):
    """Micro-batches of a stream, whose tasks publish what the flow makes of them."""

    def __init__(self, options: SourceOptions, columns: StructType, flow: bytes, one_task: bool) -> None:
        super().__init__(options, columns)
        self._flow = flow
        self._one_task = one_task

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Cut as for any stream, or give everything to one task, one partition of the stream after the other."""
        shares = super().partitions(start, end)
        if not self._one_task or not shares:
            return shares
        pieces: tuple[Piece, ...] = tuple(piece for share in shares for piece in share.value)
        return [SharePartition(pieces, identity_in(end))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Run the task: read, process and publish its messages; then yield a row for each of them."""
        from heliograph.pipeline.sink.encoded import EncodedPublishing  # noqa: PLC0415
        from heliograph.pipeline.sink.part import part_of_task  # noqa: PLC0415 - for executors only

        job, server = _unpickled(self._flow)
        came = _Counted(super().read(partition))
        EncodedPublishing(part_of_task(), server).publish(job(came))
        if came.rows:
            yield pa.RecordBatch.from_arrays([pa.nulls(came.rows, pa.bool_())], names=[_DONE])


class _Counted:
    """Batches, and how many rows they had."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self.rows = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        batch = next(self._batches)
        self.rows += batch.num_rows
        return batch


@lru_cache(maxsize=4)
def _unpickled(flow: bytes) -> "tuple[FlowJob, SinkOptions]":
    """Unpickle once per process, not for each micro-batch."""
    job, server = pickle.loads(flow)  # noqa: S301 - our own
    return job, server
