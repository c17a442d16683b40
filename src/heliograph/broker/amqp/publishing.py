"""A topic as a place to put messages."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from heliograph.broker.amqp.topics import publish_amqp
from heliograph.broker.queues.refusal import Put, PutSteps
from heliograph.broker.queues.unit_of_work import Work

if TYPE_CHECKING:
    from heliograph.broker.broker import Broker


class Topic:
    """Where one client publishes to one topic."""

    __slots__ = ("_broker", "_name", "_publisher")

    def __init__(self, broker: "Broker", name: str, publisher: str) -> None:
        self._broker = broker
        self._name = name
        self._publisher = publisher

    def put(self, messages: Sequence[bytes], *, work: Work | None = None) -> Put | PutSteps:
        """Publish encoded messages; see `publish_amqp`."""
        return publish_amqp(self._broker, self._name, messages, self._publisher, work=work)
