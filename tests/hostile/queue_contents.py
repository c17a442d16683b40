"""What is in a queue of a server."""

from typing import Any

from heliograph.client import connect
from running import RunningServer


def all_bodies(server: RunningServer, queue: str) -> list[Any]:
    """Get all messages of a queue: their bodies."""
    with connect(server.url("amqp")) as connection, connection.session() as session:
        consumer = session.consumer(queue)
        found = []
        while (message := consumer.receive(timeout=0.5)) is not None:
            found.append(message.body)
        return found
