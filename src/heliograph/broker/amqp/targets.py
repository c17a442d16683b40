"""Where messages from clients can be put, by address; and putting runs of messages that may not all be messages."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from heliograph.amqp import ProtocolError, conditions
from heliograph.amqp.messages import TO, address_at
from heliograph.broker.amqp.addresses import Address, AddressKind, read_address
from heliograph.broker.amqp.dynamic_nodes import new_queue_on_demand
from heliograph.broker.amqp.management_node import ManagementNode
from heliograph.broker.amqp.peer import AmqpPeer
from heliograph.broker.amqp.topics import Topic
from heliograph.broker.broker import Broker
from heliograph.broker.errors import NoSuchQueue, Refusal, Refused
from heliograph.broker.queues.message_view import MessageView
from heliograph.broker.queues.queue import Queue
from heliograph.broker.queues.refusal import TAKEN, Put, PutSteps
from heliograph.broker.queues.unit_of_work import UnitOfWork
from heliograph.common.bounded_dict import BoundedDict


class PutTarget(Protocol):
    """Where messages are put: a queue, a topic, or whatever their own addresses say."""

    def put(self, messages: Sequence[bytes], *, work: UnitOfWork | None = None) -> Put | PutSteps:
        """Put encoded messages; which of them were refused, and whether the sender hears when it is safe only.

        Where that takes long, there are steps to be done. ProtocolError, and none is put, if one of them is no message.
        """


def put_run(place: PutTarget, messages: Sequence[bytes], work: UnitOfWork | None) -> Put | PutSteps:
    """Put messages; what is no message is refused like others that cannot be taken."""
    try:
        return place.put(messages, work=work)
    except ProtocolError as error:
        if len(messages) == 1:
            return Put({0: Refusal(error.condition, str(error))}, stored=False)
    return put_all([(place, [message]) for message in messages], work)


def put_all(runs: Iterable[tuple[PutTarget | Refusal, Sequence[bytes]]], work: UnitOfWork | None) -> Put | PutSteps:
    """Put one run after the other, each at its place; or refuse it, if there is none."""
    steps = _put_all(runs, work)
    try:
        step = next(steps)
    except StopIteration as over:
        put: Put = over.value
        return put
    return _behind(step, steps)


def _behind(step: bool | None, steps: PutSteps) -> PutSteps:
    yield step
    return (yield from steps)


def _put_all(runs: Iterable[tuple[PutTarget | Refusal, Sequence[bytes]]], work: UnitOfWork | None) -> PutSteps:
    refused: dict[int, Refusal] = {}
    stored = False
    at = 0
    for place, messages in runs:
        if isinstance(place, Refusal):
            refused.update(dict.fromkeys(range(at, at + len(messages)), place))
        else:
            put = put_run(place, messages, work)
            if not isinstance(put, Put):
                put = yield from put
            stored = stored or put.stored
            refused.update({at + index: why for index, why in put.refused.items()})
        at += len(messages)
    return Put(refused, stored) if refused or stored else TAKEN


_KNOWN_MOST = 1000
_KNOWN_LONGEST = 200


def find_target(connection: AmqpPeer, address: Address) -> PutTarget:
    """The queue or topic at an address; Refused if there is none."""
    host = connection.host
    if address.kind is AddressKind.MANAGEMENT:
        if not host.is_managed:
            raise Refused(conditions.NOT_FOUND, "there is no management node here")
        return ManagementNode(host.broker, connection.made)
    if address.kind is AddressKind.TOPIC:
        return Topic(host.broker, address.name, connection.container_id)
    return find_queue(host.broker, address.name)


def find_queue(broker: Broker, name: str) -> Queue:
    """The queue of this name, if it is one for clients or may be made for one; NoSuchQueue otherwise."""
    try:
        queue = broker.queues.find(name)
    except NoSuchQueue:
        return new_queue_on_demand(broker, name)
    if queue.definition.internal:  # somebody's subscription, which is to be had by its own name only
        raise NoSuchQueue(name)
    return queue


class Relay:
    """Puts each message where its own address says."""

    __slots__ = ("_connection", "_known")

    def __init__(self, connection: AmqpPeer) -> None:
        self._connection = connection
        self._known: BoundedDict[str, PutTarget] = BoundedDict(_KNOWN_MOST)

    def put(self, messages: Sequence[bytes], *, work: UnitOfWork | None = None) -> Put | PutSteps:
        """Put encoded messages; neighbours that go to the same place go as a run."""
        if len(messages) == 1:
            place = self._find(address_of(messages[0]))
            return Put({0: place}, stored=False) if isinstance(place, Refusal) else put_run(place, messages, work)
        return put_all(self._runs(messages), work)

    def _runs(self, messages: Sequence[bytes]) -> Iterator[tuple[PutTarget | Refusal, Sequence[bytes]]]:
        addresses = addresses_of(messages)
        begin = 0
        while begin < len(messages):
            end = begin + 1
            while end < len(messages) and addresses[end] == addresses[begin]:
                end += 1
            yield self._find(addresses[begin]), messages[begin:end]
            begin = end

    def _find(self, address: str | None) -> PutTarget | Refusal:
        if address is None:
            return Refusal(conditions.INVALID_FIELD, "expected an address in the message's to field, found none")
        place = self._known.get(address)
        if place is not None and not (isinstance(place, Queue) and place.deleted):
            return place
        try:
            place = find_target(self._connection, read_address(address))
        except Refused as error:
            return error.refusal
        if len(address) <= _KNOWN_LONGEST:
            self._known[address] = place
        return place


def addresses_of(messages: Sequence[bytes]) -> list[str | None]:
    """The addresses of messages. Most have that of the one before, and all that comes before it in a message, too."""
    addresses: list[str | None] = []
    opening, address = b"", None
    known: dict[bytes, str | None] = {}
    for message in messages:
        if not opening or not message.startswith(opening):
            begin, end = address_at(message)
            opening = message[:end]
            text = message[begin:end]
            address = known.get(text) if end else None
            if address is None:
                address = known[text] = address_of(message)
        addresses.append(address)
    return addresses


def address_of(payload: bytes) -> str | None:
    """The address in a message's `to` field."""
    address = MessageView(payload).fields[TO]
    return address if isinstance(address, str) else None
