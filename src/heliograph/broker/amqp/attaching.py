"""Attach: what a link that a client begins is to lead to, and the answer."""

from dataclasses import replace

from heliograph.amqp import (
    Coordinator,
    DistributionMode,
    Error,
    Link,
    Receiver,
    ReceiverSettleMode,
    Sender,
    Source,
    Target,
    conditions,
)
from heliograph.broker.amqp import subscribing
from heliograph.broker.amqp.addresses import TOPIC_CAPABILITIES, Address, AddressKind, read_address
from heliograph.broker.amqp.coordination import Coordination
from heliograph.broker.amqp.dynamic_nodes import is_model, new_queue_after, new_temporary_queue, new_temporary_topic
from heliograph.broker.amqp.filters import read_filters
from heliograph.broker.amqp.incoming import Incoming
from heliograph.broker.amqp.outgoing import Outgoing, consume, offered
from heliograph.broker.amqp.peer import AmqpPeer
from heliograph.broker.amqp.states import error_of
from heliograph.broker.amqp.targets import PutTarget, Relay, find_queue, find_target
from heliograph.broker.amqp.topics import Topic
from heliograph.broker.core.queue_definition import LONGEST_MESSAGE
from heliograph.broker.errors import Refused
from heliograph.broker.queues.queue import Queue
from heliograph.errors import Problem

_TRANSACTIONS = ("amqp:local-transactions", "amqp:multi-txns-per-ssn", "amqp:multi-ssns-per-txn")
OUTCOMES = ("amqp:accepted:list", "amqp:rejected:list", "amqp:released:list", "amqp:modified:list")


def attach(connection: AmqpPeer, link: Link) -> None:
    """Answer a link that the client has begun."""
    try:
        if isinstance(link, Receiver):
            _attach_incoming(connection, link)
        elif isinstance(link, Sender):
            _attach_outgoing(connection, link)
    except Refused as error:
        link.refuse(error_of(error.refusal))
    except Problem as problem:
        link.refuse(Error(condition=conditions.INVALID_FIELD, description=str(problem)))


# The client sends


def _attach_incoming(connection: AmqpPeer, link: Receiver) -> None:
    target = link.target
    if isinstance(target, Coordinator):
        link.accept(target=Coordinator(capabilities=_TRANSACTIONS), rcv_settle_mode=ReceiverSettleMode.FIRST)
        connection.connect(link, Coordination(connection, link))
        return
    if target is None:
        raise Refused(conditions.INVALID_FIELD, "expected a target on a link that sends, found none")
    place, target = _target(connection, link, target)
    longest = place.definition.max_message_length if isinstance(place, Queue) else LONGEST_MESSAGE
    link.accept(
        target=target,
        max_message_size=longest,
        rcv_settle_mode=ReceiverSettleMode.FIRST,
        offered_capabilities=offered(link),
    )
    connection.connect(link, Incoming(connection, link, place))


def _target(connection: AmqpPeer, link: Receiver, target: Target) -> tuple[PutTarget, Target]:
    if target.dynamic:
        if not TOPIC_CAPABILITIES.isdisjoint(target.capabilities):
            name = new_temporary_topic(connection.broker)
            return Topic(connection.broker, name, connection.container_id), replace(target, address=name)
        queue = new_temporary_queue(connection, link)
        return queue, replace(target, address=queue.definition.name)
    if not target.address:
        return Relay(connection), target
    address = read_address(target.address, target.capabilities)
    if address.kind is not AddressKind.TOPIC and is_model(connection, address.name):
        queue = new_queue_after(connection, address.name, link)
        return queue, replace(target, address=queue.definition.name)
    return find_target(connection, address), target


# The client receives


def _attach_outgoing(connection: AmqpPeer, link: Sender) -> None:
    source = link.source
    if source is None:
        subscribing.attach_to_forget(connection, link)
        return
    if source.dynamic:
        source = _dynamic_source(connection, link, source)
    elif not source.address:
        raise Refused(conditions.INVALID_FIELD, "expected an address in the source, found none")
    assert source.address
    address = read_address(source.address, source.capabilities)
    filters = read_filters(source.filter)
    source = replace(source, filter=filters.understood, outcomes=source.outcomes or OUTCOMES)
    if address.kind is AddressKind.MANAGEMENT:
        raise Refused(conditions.NOT_ALLOWED, "answers of the management node go to where requests say")
    if address.kind is AddressKind.TOPIC:
        subscribing.subscribe(connection, link, address.name, source, filters)
        return
    if is_model(connection, address.name):
        address = Address(AddressKind.QUEUE, new_queue_after(connection, address.name, link).definition.name)
        source = replace(source, address=address.name)
    browse = source.distribution_mode == DistributionMode.COPY
    awaited = None if browse else filters.awaited
    outgoing = Outgoing(
        connection,
        link,
        find_queue(connection.broker, address.name),
        selector=filters.compiled(),
        correlation_id=awaited,
        browse=browse,
    )
    consume(connection, link, outgoing, source)


def _dynamic_source(connection: AmqpPeer, link: Sender, source: Source) -> Source:
    if not TOPIC_CAPABILITIES.isdisjoint(source.capabilities):
        return replace(source, address=new_temporary_topic(connection.broker))
    return replace(source, address=new_temporary_queue(connection, link).definition.name)
