"""How far a partition of a query has come, kept by the server in one message: the token.

Each unit of work takes the token, puts one that counts its own rows too, and publishes those rows: all of it happens,
or nothing. So whoever repeats a task finds out what is there, whatever became of those who tried before. The token's
queue is exclusive. Of several attempts at one task, only one at a time has it; another waits until the first has
ended, or until the server has seen that it is gone and has undone its work.
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
    """What the server has of a partition."""

    batch: int
    rows: int

    def rows_of(self, batch: int, name: str) -> int:
        """How many rows of this batch are there already; a `Problem` if a later batch is."""
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
        """What the server has; None if it has nothing. The token is part of the current unit of work from now on."""
        message = self._consumer.receive_nowait()
        if message is None:
            return None
        try:
            batch, rows = message.body.split()
            return Progress(int(batch), int(rows))
        except (AttributeError, ValueError):
            raise PublishingFailed(f'expected two numbers in queue {self._queue}, found "{message.body}"') from None

    def put(self, progress: Progress) -> None:
        """What the server has when this unit of work is committed."""
        self._channel.producer.send(Message(f"{progress.batch} {progress.rows}"), Queue(self._queue))

    def close(self) -> None:
        """Let others have it."""
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
        """Make the queue. Somebody else may do the same at this moment, which is why it may replace."""
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
    """Delete all tokens of a job that has failed: those, too, of tasks that did not come so far as to tell of theirs.

    Some of its tasks may not know yet that they are to end, and hold theirs for a moment.
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
    """Delete tokens that nobody needs any more."""
    with channel_to(options).connection.session() as asking:
        for queue in queues:
            management(asking, "queue-delete", name=queue, purge=True)
