"""Subscriptions of AMQP clients."""

from typing import TYPE_CHECKING

from heliograph.amqp import conditions
from heliograph.amqp.performatives import Source
from heliograph.amqp.sender import Sender
from heliograph.broker.links.filters import Filters
from heliograph.broker.queues.refusal import Refused

if TYPE_CHECKING:
    from heliograph.broker.links.connection import AmqpConnection


def subscribe(connection: "AmqpConnection", link: Sender, topic_filter: str, source: Source, filters: Filters) -> None:
    raise Refused(conditions.NOT_IMPLEMENTED, "topics come later")


def attach_to_forget(connection: "AmqpConnection", link: Sender) -> None:
    raise Refused(conditions.NOT_IMPLEMENTED, "topics come later")
