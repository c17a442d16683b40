"""Looks into queues of a real server, and makes them."""

from types import TracebackType
from typing import Self

from configurations import PLAIN, listener
from heliograph.client import Message, connect
from heliograph.client.management import management


def config_at(port: int) -> str:
    """A server for MQTT, and for AMQP on this port, that keeps all messages."""
    return f"""{PLAIN}{listener(protocol="amqp", port=port)}
[[stream]]
name = "all"
filter = "#"
partitions = 2
"""


CONFIG = config_at(0)


class QueueAdmin:
    """A client of the server."""

    def __init__(self, url: str) -> None:
        self._connection = connect(url)
        self._session = self._connection.session()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def queue(self, name: str, **attributes: object) -> str:
        """Define a queue."""
        management(self._session, "queue-define", **{"name": name, "max_depth": 100_000, **attributes})
        return name

    def queues(self, pattern: str) -> list[str]:
        """Names of queues."""
        return [found["name"] for found in management(self._session, "queue-list", pattern=pattern)]

    def taken(self, queue: str) -> list[Message]:
        """All messages of a queue, which is empty then."""
        with self._session.consumer(queue) as consumer:
            messages = []
            while (message := consumer.receive_nowait()) is not None:
                messages.append(message)
        return messages

    def bodies(self, queue: str) -> list[str]:
        """The bodies of all messages of a queue, in order."""
        return [message.body for message in self.taken(queue)]
