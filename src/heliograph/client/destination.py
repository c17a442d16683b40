"""Destinations: queues and topics."""

from collections.abc import Callable
from typing import ClassVar, Self

from heliograph.amqp.messages import jms_kinds
from heliograph.client.errors import IllegalState
from heliograph.client.pending import Pending
from heliograph.mapping import QUEUE_PREFIX, TOPIC_PREFIX


class Destination:
    """A queue or a topic, by its name."""

    __slots__ = ("name",)
    capability: ClassVar[str] = ""
    """The capability of the terminus that names this kind of destination."""
    jms_type: ClassVar[int] = jms_kinds.QUEUE
    """The number of this kind in the annotations of JMS clients."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Destination) and (self.capability, self.name) == (other.capability, other.name)

    def __hash__(self) -> int:
        return hash((self.capability, self.name))


class Queue(Destination):
    """A queue: each message goes to one consumer."""

    __slots__ = ()
    capability = "queue"
    jms_type = jms_kinds.QUEUE


class Topic(Destination):
    """A topic: each message goes to all subscribers."""

    __slots__ = ()
    capability = "topic"
    jms_type = jms_kinds.TOPIC


class _Temporary(Destination):
    """Lives as long as the connection that made it. After a reconnection it has a new name."""

    __slots__ = ("_remove",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._remove: Callable[[], Pending[None]] | None = None

    @classmethod
    def made(cls, name: str, remove: Callable[[], Pending[None]]) -> Self:
        """One of this client's own, which it can delete."""
        made = cls(name)
        made._remove = remove
        return made

    def remover(self) -> Callable[[], Pending[None]]:
        """What deletes it on the server."""
        if self._remove is None:
            raise IllegalState(f"{self!r} was made by another client; only that one can delete it")
        return self._remove


class TemporaryQueue(_Temporary):
    """A queue for this connection alone: others may send to it, only its maker receives."""

    __slots__ = ()
    capability = "temporary-queue"
    jms_type = jms_kinds.TEMPORARY_QUEUE


class TemporaryTopic(_Temporary):
    """A topic for this connection alone."""

    __slots__ = ()
    capability = "temporary-topic"
    jms_type = jms_kinds.TEMPORARY_TOPIC


KINDS: dict[int, type[Destination]] = {kind.jms_type: kind for kind in (Queue, Topic, TemporaryQueue, TemporaryTopic)}


def destination_of(destination: Destination | str) -> Destination:
    """`topic://news` is a topic; `queue://orders` and plain `orders` are queues."""
    if isinstance(destination, Destination):
        return destination
    if destination.startswith(TOPIC_PREFIX):
        return Topic(destination.removeprefix(TOPIC_PREFIX))
    return Queue(destination.removeprefix(QUEUE_PREFIX))
