"""Subscriptions of AMQP clients: each is a queue of its own with a binding to the topic filter.

A subscription without a name lives and dies with its link. One that is durable or shared has a name, by which links
find it. A volatile one goes with its last link; a durable one when a client closes its link, or asks to forget it.
"""

from functools import partial
from typing import Any, NamedTuple

from heliograph.amqp import (
    Described,
    DistributionMode,
    Durability,
    ExpiryPolicy,
    Sender,
    Source,
    Symbol,
    ULong,
    conditions,
)
from heliograph.broker.amqp.filters import NO_LOCAL_CODE, SELECTOR_CODE, Filters
from heliograph.broker.amqp.outgoing import Outgoing, consume
from heliograph.broker.amqp.peer import AmqpPeer
from heliograph.broker.amqp.states import Departure, error_of
from heliograph.broker.amqp.subscription_names import (
    NamedSubscription,
    SubscriptionName,
    name_to_forget,
    subscription_name,
)
from heliograph.broker.broker import Broker
from heliograph.broker.core.queue_definition import LONGEST_MESSAGE, QueueDefinition
from heliograph.broker.errors import NoSuchQueue, Refused
from heliograph.broker.queues.queue import Queue


class Wanted(NamedTuple):
    """The messages that a subscription selects."""

    filter: str
    selector: str
    no_local: str
    """The container whose own messages it does not bring; empty for none."""


def subscribe(connection: AmqpPeer, link: Sender, topic_filter: str, source: Source, filters: Filters) -> None:
    """Answer a link that wants what is published to topics."""
    broker = connection.broker
    durable = source.durable is not Durability.NONE or source.expiry_policy == ExpiryPolicy.NEVER
    name = subscription_name(link.name, connection.container_id, source.capabilities, durable=durable)
    wanted = Wanted(topic_filter, filters.selector, connection.container_id if filters.no_local else "")
    if name is None:
        queue = _make(broker, f"$subscription/link/{broker.new_identifier()}", wanted, creator=link)
        consume(connection, link, Outgoing(connection, link, queue), source)
        return
    outgoing = Outgoing(
        connection, link, _find_or_make(broker, name, wanted), subscription=NamedSubscription(broker, name)
    )
    if name.durable and broker.store is not None:
        # The client is told when the subscription would survive: from then on it gets all that is published.
        broker.turn.held.when_safe(partial(_answer, connection, link, outgoing, source))
    else:
        consume(connection, link, outgoing, source)


def _answer(connection: AmqpPeer, link: Sender, outgoing: Outgoing, source: Source) -> None:
    if link.gone:
        return
    connection.talk()
    try:
        consume(connection, link, outgoing, source)
    except Refused as error:
        link.refuse(error_of(error.refusal))


def _find_or_make(broker: Broker, name: SubscriptionName, wanted: Wanted) -> Queue:
    try:
        queue = broker.queues.find(name.queue_name)
    except NoSuchQueue:
        return _make_named(broker, name, wanted)
    in_use = len(queue.consumers) > 0
    if _wanted_by(broker, queue) != wanted:
        if in_use:
            text = f"subscription {name.name} is in use, with another topic, selector or no-local"
            raise Refused(conditions.RESOURCE_LOCKED, text)
        broker.queues.delete(queue.name)
        return _make_named(broker, name, wanted)
    if queue.definition.exclusive is name.shared:
        if in_use:
            text = f"subscription {name.name} is in use, and is {'not ' * name.shared}shared"
            raise Refused(conditions.RESOURCE_LOCKED, text)
        broker.queues.alter(queue.name, exclusive=not name.shared)
    return queue


def _make_named(broker: Broker, name: SubscriptionName, wanted: Wanted) -> Queue:
    return _make(
        broker,
        name.queue_name,
        wanted,
        creator=None if name.durable else name,
        shared=name.shared,
    )


def _make(broker: Broker, queue_name: str, wanted: Wanted, *, creator: object, shared: bool = False) -> Queue:
    """A queue that is bound to what is wanted; with a creator, a temporary one."""
    broker.queues.check_room()
    definition = QueueDefinition(
        queue_name,
        max_depth=broker.limits.max_messages,
        max_message_length=LONGEST_MESSAGE,
        temporary=creator is not None,
        exclusive=not shared,
    )
    queue = broker.queues.define(definition, creator=creator)
    assert queue is not None
    try:
        # As for MQTT, nobody could say to which sharer what is retained should go.
        broker.bindings.bind(
            wanted.filter,
            queue,
            selector=wanted.selector,
            no_local=wanted.no_local,
            retained=not shared,
        )
    except BaseException:
        broker.queues.delete(queue_name)
        raise
    return queue


def _wanted_by(broker: Broker, queue: Queue) -> Wanted | None:
    for binding in broker.bindings.of(queue):
        return Wanted(binding.filter, binding.selector.text if binding.selector else "", binding.no_local)
    return None


# Forgetting


def attach_to_forget(connection: AmqpPeer, link: Sender) -> None:
    """Answer a link without a source: the client wants to end the durable subscription that its name tells of."""
    broker = connection.broker
    name = name_to_forget(link.name, connection.container_id)
    try:
        queue = broker.queues.find(name.queue_name)
    except NoSuchQueue:
        raise Refused(conditions.NOT_FOUND, f"there is no durable subscription {name.name}") from None
    if len(queue.consumers):
        raise Refused(conditions.RESOURCE_LOCKED, f"subscription {name.name} is in use")
    link.accept(source=_source(_wanted_by(broker, queue), name, shared=not queue.definition.exclusive))
    connection.connect(link, Forgetting(NamedSubscription(broker, name), queue))


class Forgetting:
    """A link by which a client ends a durable subscription: it does so by closing the link."""

    __slots__ = ("_queue", "_subscription")

    def __init__(self, subscription: NamedSubscription, queue: Queue) -> None:
        self._subscription = subscription
        self._queue = queue

    def gone(self, how: Departure) -> bool:
        """The link has ended."""
        return self._subscription.left(self._queue, how)


def _source(wanted: Wanted | None, name: SubscriptionName, *, shared: bool) -> Source:
    """What a durable subscription looks like on a link."""
    assert wanted is not None
    filters: dict[Any, Any] = {}
    if wanted.selector:
        filters[Symbol("jms-selector")] = Described(ULong(SELECTOR_CODE), wanted.selector)
    if wanted.no_local:
        filters[Symbol("no-local")] = Described(ULong(NO_LOCAL_CODE), [])
    capabilities = ["topic"]
    if shared:
        capabilities.append("shared")
        if not name.owner:
            capabilities.append("global")
    return Source(
        wanted.filter,
        durable=Durability.UNSETTLED_STATE,
        expiry_policy=ExpiryPolicy.NEVER,
        distribution_mode=DistributionMode.COPY,
        filter=filters or None,
        capabilities=tuple(capabilities),
    )
