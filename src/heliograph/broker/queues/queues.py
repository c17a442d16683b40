"""All queues of a broker."""

from collections.abc import Iterable, Sequence
from typing import Any

from heliograph.broker.queues.definition import QueueDefinition
from heliograph.broker.queues.queue import Queue
from heliograph.broker.queues.refusal import Put
from heliograph.broker.queues.work import Work


class Queues:
    """`broker.queues`. Definitions, and persistent messages, are in the log and are there again after a restart."""

    def find(self, name: str) -> Queue:
        """The queue of this name, or behind this alias; NoSuchQueue if there is none, or it is a model."""

    def definition(self, name: str) -> QueueDefinition:
        """What is defined under a name, an alias or model as such; NoSuchQueue if nothing is."""

    def list(self, *, internal: bool = False) -> "list[QueueDefinition]":
        """All that is defined, by name; the server's own queues only if asked for."""

    def define(self, definition: QueueDefinition, *, creator: object = None) -> Queue | None:
        """Make a queue (which is returned), alias or model; Refused (`amqp:precondition-failed`) if the name is taken.

        A temporary one goes with its creator (see `creator_gone`).
        """

    def alter(self, name: str, **changes: Any) -> QueueDefinition:
        """Change attributes; a Problem if they make no sense, Refused if they cannot be changed now."""

    def delete(self, name: str, *, purge: bool = True) -> int:
        """Forget what is defined under a name, messages and all; how many of those there were.

        Without `purge`, a queue that has messages is refused. Consumers are told by `ended`.
        """

    def create_dynamic(self, model: str, creator: object, name: str = "") -> Queue:
        """Make a queue after a model, with a name that nobody has: `name` is what it begins with."""

    def creator_gone(self, creator: object) -> None:
        """Forget the temporary queues of somebody who has gone."""

    def put(self, queues: Sequence[Queue], messages: Sequence[bytes]) -> "list[Put]":
        """Put the same messages into several queues; a body is stored once. One answer for each queue."""

    def begin(self) -> Work:
        """A new unit of work."""

    def end_turn(self) -> None:
        """Store what has gathered, and hand out what is there. The broker calls it."""

    def all(self) -> Iterable[Queue]:
        """All queues that have messages of their own: no aliases, no models."""
        return ()
