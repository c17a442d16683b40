"""Which part of a query or job a task writes."""

from typing import NamedTuple

from pyspark import TaskContext

from heliograph.pipeline.errors import InvalidOption

QUERY = "sql.streaming.queryId"
BATCH = "streaming.sql.batchId"
"""Properties in which Spark tells a task what it belongs to; both stay the same when a batch is repeated."""


def queues_of(name: str) -> str:
    """The pattern of all queues in which the server keeps tokens of a query or of a job."""
    return f"SPARK.{name}.*"


class Part(NamedTuple):
    """The part that a task writes: a partition of a batch of a query or of a job."""

    name: str
    batch: int
    partition: int

    @property
    def queue(self) -> str:
        """Where the server keeps the token; at most 48 characters, as many servers demand."""
        return f"SPARK.{self.name}.{self.partition}"

    @property
    def prefix(self) -> str:
        """What the ids of messages begin with; the row's number follows."""
        return f"{self.name}/{self.batch}/{self.partition}/"

    def row(self, number: int) -> str:
        """A row, for people."""
        return f"row {number} of partition {self.partition} in batch {self.batch}"

    def message(self, first: int, number: int, *, single: bool) -> str:
        """A message of the unit of work that begins with the row `first`, for people.

        Its row is known if there is a `single` message for each.
        """
        return self.row(first + number) if single else f"message {number + 1} of those from {self.row(first)} on"


def part_of_task() -> Part:
    """The part of the task that calls this."""
    task = TaskContext.get()
    query = task.getLocalProperty(QUERY) if task is not None else None
    batch = task.getLocalProperty(BATCH) if task is not None else None
    if task is None or query is None or batch is None:
        raise InvalidOption("this is for streaming queries; for batches, write what flow_outputs gives")
    return Part(query.replace("-", ""), int(batch), task.partitionId())
