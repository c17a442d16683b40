"""The data source `format("heliograph-outputs")`: writes the outputs of a flow, each exactly once.

Order within a task: messages are published as rows come, and files are written under temporary names. When all rows
have come, those for tables are committed with a note of the batch, and then the last unit of messages; with it the task
is done. `commit` on the driver then renames the files. A repeated task finds the note and the messages' token, and
skips what is there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from heliograph.flow.engine import WriteFile
from heliograph.flow.inline import write_file
from heliograph.pipeline.errors import PublishingFailed
from heliograph.pipeline.flows.effect_rows import END
from heliograph.pipeline.flows.json_columns import json_rows
from heliograph.pipeline.flows.outlets.parquet import DAY, ParquetStage, Staged, commit_files, with_day
from heliograph.pipeline.flows.outlets.plan import OutputsPlan
from heliograph.pipeline.flows.outlets.tables import TableRows
from heliograph.pipeline.flows.routes import Route
from heliograph.pipeline.sink.part import Part, part_of_task
from heliograph.pipeline.spark_errors import plain_errors

NAME = "heliograph-outputs"
_FOR_THE_SINK = ["row", "message"]


class FlowOutputs(DataSource):
    """The outputs of a flow. `start_flow` uses it; its rows and its option are made there."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802 - Spark's
        return OutputsWriter(OutputsPlan.of(self.options["plan"]))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return BatchOutputsWriter(OutputsPlan.of(self.options["plan"]))


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """What a task has written: messages and rows of tables are committed, files wait to be renamed."""

    query: str
    batch: int
    staged: tuple[Staged, ...]


@plain_errors
class OutputsWriter(DataSourceStreamArrowWriter):
    """Writes the outputs of each micro-batch."""

    def __init__(self, plan: OutputsPlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """One task."""
        return _write(self._plan, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Rename the files of the batch: all of its tasks are done."""
        _commit(self._plan, messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Do nothing: staged files are removed with the next complete micro-batch."""


@plain_errors
class BatchOutputsWriter(DataSourceArrowWriter):
    """The same within `foreachBatch`, for queries with output mode update, which Spark's Python sinks do not know."""

    def __init__(self, plan: OutputsPlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """One task."""
        return _write(self._plan, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Rename the files of the batch: all of its tasks are done."""
        _commit(self._plan, messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """As above."""


def _write(plan: OutputsPlan, rows: Iterator[pa.RecordBatch]) -> Written:
    """Write the outputs of a task. Messages are committed last: with them, the task is done."""
    from heliograph.pipeline.sink.encoded import EncodedPublishing  # noqa: PLC0415 - for executors only

    part = part_of_task()
    writing = _Writing(plan, part)
    messages = writing.messages(rows)
    if plan.server is None:
        for _ in messages:
            raise AssertionError("a message without a server")
    else:
        EncodedPublishing(part, plan.server).publish(messages)
    return Written(part.name, part.batch, tuple(writing.staged))


def _commit(plan: OutputsPlan, messages: list[WriterCommitMessage | None]) -> None:
    """Rename the files of all tasks."""
    written = [message for message in messages if isinstance(message, Written)]
    if written:
        staged = [one for message in written for one in message.staged]
        commit_files(plan.folders(), written[0].query, written[0].batch, staged)


class _Writing:
    """One task: messages are passed on to the sink of messages, all other outputs are written here."""

    def __init__(self, plan: OutputsPlan, part: Part) -> None:
        self._plan = plan
        self._files = ParquetStage(part)
        self._tables = TableRows(part)
        self.staged: list[Staged] = []

    def messages(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows that are messages. When they end, everything else is written.

        When something before the sink fails, rows may seem to end in good order; the last row says that they have.
        """
        complete = True
        for batch in batches:
            if not batch.num_rows:
                continue
            complete = batch.column("kind")[-1].as_py() == END
            if complete:
                batch = batch.slice(0, batch.num_rows - 1)
            is_message = pc.is_valid(batch.column("message"))
            if not pc.all(is_message).as_py():
                self._write(pa.Table.from_batches([batch.filter(pc.invert(is_message))]).drop_columns(_FOR_THE_SINK))
                batch = batch.filter(is_message)
            if batch.num_rows:
                yield batch.select(_FOR_THE_SINK)
        if not complete:
            raise PublishingFailed(
                "the rows of this task came to an end before their time; what was not committed is undone"
            )
        self._tables.write()
        self.staged = self._files.close()

    def _write(self, rows: pa.Table) -> None:
        for found in rows.select(["kind", "node"]).group_by(["kind", "node"]).aggregate([]).to_pylist():
            mask = pc.and_(pc.equal(rows["kind"], found["kind"]), pc.equal(rows["node"], found["node"]))
            name, route = self._plan.route(found["kind"], found["node"])
            self._write_route(name, route, rows.filter(mask))

    def _write_route(self, name: str, route: Route, rows: pa.Table) -> None:
        if route.kind == "flow":
            _write_files(rows)
            return
        written = rows
        if route.json_schema:
            written = json_rows(rows["payload"].to_pylist(), self._plan.json_schemas[name])
        if route.kind == "table":
            self._tables.add(route.target, route.table, written)
            return
        if DAY in route.partition:
            written = with_day(written, rows["timestamp"])
        self._files.add(route.target, name, route.partition, written)


def _write_files(rows: pa.Table) -> None:
    """Write whole files for FileOutput nodes: repeating this writes the same content."""
    for row in rows.select(["destination", "payload", "node"]).to_pylist():
        path = Path(row["destination"])
        write_file(WriteFile(str(path.parent), path.name, row["payload"], append=False, node=row["node"]))
