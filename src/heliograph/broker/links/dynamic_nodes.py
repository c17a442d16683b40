"""Nodes that a client has made for itself: they go when the link goes that asked for them."""

from typing import TYPE_CHECKING
from uuid import uuid4

from heliograph.amqp.link import Link
from heliograph.broker.links.addresses import TEMPORARY_TOPICS
from heliograph.broker.queues.definition import TEMPORARY_MODEL
from heliograph.broker.queues.queue import Queue

if TYPE_CHECKING:
    from heliograph.broker.links.connection import AmqpConnection


def new_temporary_queue(connection: "AmqpConnection", link: Link) -> Queue:
    """A queue that lives as long as the link."""
    return connection.broker.queues.create_dynamic(TEMPORARY_MODEL, link)


def new_temporary_topic() -> str:
    """The name of a topic that nobody else knows. Nothing is kept of a topic, so nothing has to be forgotten."""
    return f"{TEMPORARY_TOPICS}{uuid4()}"
