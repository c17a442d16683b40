"""Nodes that a client has made for itself: they go when the link goes that asked for them, unless a model or the
configuration says that they stay.
"""

from fnmatch import fnmatchcase

from heliograph.amqp import Link
from heliograph.broker.amqp.addresses import TEMPORARY_TOPICS
from heliograph.broker.amqp.peer import AmqpPeer
from heliograph.broker.broker import Broker
from heliograph.broker.core.queue_definition import TEMPORARY_MODEL, QueueKind, is_queue_name
from heliograph.broker.errors import NoSuchQueue
from heliograph.broker.queues.queue import Queue


def new_temporary_queue(connection: AmqpPeer, link: Link) -> Queue:
    """A queue that lives as long as the link."""
    return connection.broker.queues.create_dynamic(TEMPORARY_MODEL, link)


def is_model(connection: AmqpPeer, name: str) -> bool:
    """Whether a client that names this wants a queue of its own, made after it."""
    try:
        return connection.broker.queues.definition(name).kind is QueueKind.MODEL
    except NoSuchQueue:
        return False


def new_queue_after(connection: AmqpPeer, model: str, link: Link) -> Queue:
    """A queue made after a model, whose name it begins with; it lives as long as the link if the model is for such."""
    return connection.broker.queues.create_dynamic(model, link, model)


def new_queue_on_demand(broker: Broker, name: str) -> Queue:
    """A queue that the configuration lets clients have by using its name; NoSuchQueue if it does not.

    It has the attributes of the model for temporary queues, but it stays: nobody could say when it is not needed.
    """
    queues = broker.queues
    if not is_queue_name(name) or not any(fnmatchcase(name, pattern) for pattern in queues.created_on_demand):
        raise NoSuchQueue(name)
    queues.check_room()
    model = queues.definition(TEMPORARY_MODEL)
    queue = queues.define(
        model.replace(name=name, kind=QueueKind.LOCAL, temporary=False, description="made for a client")
    )
    assert queue is not None
    return queue


def new_temporary_topic(broker: Broker) -> str:
    """The name of a topic that nobody else knows. Nothing is kept of a topic, so nothing has to be forgotten."""
    return f"{TEMPORARY_TOPICS}{broker.new_identifier()}"
