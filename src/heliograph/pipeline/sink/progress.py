"""The progress of a partition of a query, kept by the server in one message: the token.

Theory of operation
1. Each partition has a durable queue that holds at most one message, the token: "batch rows", the batch that was
   published last and how many of its rows are committed. No token means that nothing is.
2. Each unit of work takes the token, puts a new one that includes its own rows, and publishes those rows. The unit is
   atomic, so the token is always right, and an attempt that repeats a task knows which rows to skip.
3. The queue is exclusive: of several attempts at one task, only one has the token at a time. Another one waits until
   the first has ended, or until the server has noticed that its connection is gone and has rolled back its unit.
"""

import time
from collections.abc import Iterable
from typing import NamedTuple

from heliograph.client import Consumer, InUse, InvalidDestination, Message, Queue
from heliograph.client.management import management
from heliograph.errors import Problem
from heliograph.pipeline.errors import CheckpointMismatch, PublishingFailed
from heliograph.pipeline.sink.channel import Channel, channel_to
from heliograph.pipeline.sink.options import SinkOptions
from heliograph.pipeline.sink.part import queues_of

_PATIENCE = 60.0
"""Seconds that another attempt may take to end."""
_ENDING = 5.0
"""Seconds that tasks of a job that has failed may take to end."""
_PAUSE = 0.05


class Progress(NamedTuple):
    """How far the server has come with a partition: a batch, and how many of its rows are committed."""

    batch: int
    rows: int

    def rows_of(self, batch: int, name: str) -> int:
        """How many rows of this batch are committed; `CheckpointMismatch` if a later batch is already there."""
        if self.batch > batch:
            raise CheckpointMismatch(
                f"{name} was to publish batch {batch}, but the server already has batch {self.batch} of it. The "
                "checkpoint is older than what was published; begin with a new checkpoint directory"
            )
        return self.rows if self.batch == batch else 0


class Token:
    """The token of one partition, while its task is the one that has it."""

    def __init__(self, channel: Channel, queue: str) -> None:
        """Waits while another attempt has the token."""
        self._channel = channel
        self._queue = queue
        self._consumer = self._attach()

    def take(self) -> Progress | None:
        """Take the token into the current unit of work; None if nothing was committed yet."""
        message = self._consumer.receive_nowait()
        if message is None:
            return None
        try:
            batch, rows = message.body.split()
            return Progress(int(batch), int(rows))
        except (AttributeError, ValueError):
            raise PublishingFailed(f'expected two numbers in queue {self._queue}, found "{message.body}"') from None

    def put(self, progress: Progress) -> None:
        """Put the token that is valid once the current unit of work is committed."""
        self._channel.producer.send(Message(f"{progress.batch} {progress.rows}"), Queue(self._queue))

    def close(self) -> None:
        """Let another attempt have the token."""
        self._consumer.close()

    def _attach(self) -> Consumer:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return self._channel.work.consumer(self._queue, prefetch=1)
            except InvalidDestination:
                self._define()
            except InUse:
                if time.monotonic() > deadline:
                    raise PublishingFailed(
                        f"another attempt at this task still holds queue {self._queue} after {_PATIENCE:.0f} seconds"
                    ) from None
                time.sleep(_PAUSE)

    def _define(self) -> None:
        """Define the queue, with `replace` because another attempt may define it at the same moment."""
        with self._channel.connection.session() as asking:
            management(
                asking,
                "queue-define",
                name=self._queue,
                description="how far a Spark query has come",
                default_persistence=True,
                exclusive=True,
                replace=True,
            )


def forget_job(options: SinkOptions, job: str) -> None:
    """Delete all tokens of a job that has failed, including those of tasks that did not report a queue.

    Tasks that have not been stopped yet still hold their queues, so deleting is tried again for `_ENDING` seconds.
    """
    give_up = time.monotonic() + _ENDING
    with channel_to(options).connection.session() as asking:
        while left := management(asking, "queue-list", pattern=queues_of(job)):
            for queue in left:
                try:
                    management(asking, "queue-delete", name=queue["name"], purge=True)
                except Problem:
                    if time.monotonic() > give_up:
                        raise
            time.sleep(_PAUSE)


def forget(options: SinkOptions, queues: Iterable[str]) -> None:
    """Delete tokens that are no longer needed."""
    with channel_to(options).connection.session() as asking:
        for queue in queues:
            management(asking, "queue-delete", name=queue, purge=True)
