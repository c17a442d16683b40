"""What a task is to write: a partition of a micro-batch of a query."""

from typing import NamedTuple


class Part(NamedTuple):
    """The same when the task, or the whole micro-batch, is repeated."""

    query: str
    batch: int
    partition: int
