"""Which part of a query a task of Spark is."""

from pyspark import TaskContext

from heliograph.errors import Problem
from heliograph.pipeline.sink.part import Part
from heliograph.pipeline.sink.writing import BATCH, QUERY


def part_of_task() -> Part:
    """That of the task in which this is called."""
    task = TaskContext.get()
    query = task.getLocalProperty(QUERY) if task is not None else None
    batch = task.getLocalProperty(BATCH) if task is not None else None
    if task is None or query is None or batch is None:
        raise Problem("this is for streaming queries; for batches, write what flow_outputs gives")
    return Part(query.replace("-", ""), int(batch), task.partitionId())
