"""Publishes aggregation deadlines when they are due, so that they are in the stream in order with the replies."""

import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

from heliograph.client import Consumer, Message, MessagingProblem, Queue, Topic
from heliograph.client.management import management
from heliograph.errors import Problem
from heliograph.pipeline.flows.aggregation_requests import deadline_queue
from heliograph.pipeline.sink.channel import Channel
from heliograph.pipeline.sink.options import SinkOptions

LOG = logging.getLogger("heliograph.pipeline")
_MOST = 500
"""Deadlines in a unit of work."""
_DEEP = 999_999_999
"""A set has its deadline there from its beginning on."""
_PAUSE = 0.25
_AGAIN = 2.0
"""Seconds until a server that is away is asked again."""


class Deadlines:
    """Publishes the deadlines of some aggregations, in a thread of the driver."""

    def __init__(self, server: SinkOptions, aggregates: Iterable[str]) -> None:
        """Queues that are not there yet are made."""
        self._server = server
        self._queues = [deadline_queue(aggregate) for aggregate in aggregates]
        self._stopped = threading.Event()
        self._channel = Channel(server)
        try:
            self._define()
            self._consumers = self._attach()
        except BaseException:
            self._channel.close()
            raise

    def publish_due(self) -> int:
        """Publish what is due now; how many there were.

        To be called before a query goes on, so that sets whose time was over while it did not run get their deadlines
        before anything that is newer makes Spark forget them.
        """
        count = 0
        for consumer in self._consumers:
            while taken := self._publish_some(consumer):
                count += taken
        return count

    def follow(self, is_active: Callable[[], bool]) -> None:
        """Publish in a thread for as long as the query runs."""

        def run() -> None:
            try:
                while is_active() and not self._stopped.wait(_PAUSE):
                    self._turn()
            finally:
                self._channel.close()

        threading.Thread(target=run, name="deadlines", daemon=True).start()

    def close(self) -> None:
        """Stop publishing deadlines."""
        self._stopped.set()
        self._channel.close()

    def _turn(self) -> None:
        try:
            self.publish_due()
        except (MessagingProblem, Problem, OSError) as problem:
            LOG.warning("deadlines of aggregations are not checked until the server is reachable: %s", problem)
            self._stopped.wait(_AGAIN)
            with suppress(MessagingProblem, Problem, OSError):  # it is tried again at the next turn
                self._channel.close()
                self._channel = Channel(self._server)
                self._consumers = self._attach()

    def _publish_some(self, consumer: Consumer) -> int:
        count = 0
        while count < _MOST and (message := consumer.receive_nowait()) is not None:
            topic = message.body if isinstance(message.body, str) else bytes(message.body).decode()
            self._channel.producer.send(Message(""), Topic(topic), persistent=True)
            count += 1
        if count:
            self._channel.work.commit()
        return count

    def _define(self) -> None:
        with self._channel.connection.session() as asking:
            for queue in self._queues:
                if not management(asking, "queue-list", pattern=queue):
                    management(
                        asking,
                        "queue-define",
                        name=queue,
                        description="deadlines of aggregations, for flows on Spark",
                        default_persistence=True,
                        max_depth=_DEEP,
                    )

    def _attach(self) -> list[Consumer]:
        return [self._channel.work.consumer(Queue(queue), prefetch=_MOST) for queue in self._queues]
