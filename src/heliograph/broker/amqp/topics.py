"""Publishes AMQP messages to topics: to queues as they are, converted to MQTT only if there are MQTT receivers."""

from collections.abc import Sequence

from heliograph.amqp import conditions
from heliograph.amqp.messages import BODY_SECTION, MQTT_RETAIN, UNREADABLE, find_section, peek
from heliograph.broker.broker import Broker
from heliograph.broker.core.slices import ENOUGH
from heliograph.broker.core.span import Span
from heliograph.broker.core.topics import is_reserved
from heliograph.broker.errors import Refusal
from heliograph.broker.queues.conversion import spans_of
from heliograph.broker.queues.refusal import FULL, NOBODY, NOT_ALLOWED, STORED, TAKEN, Put, PutSteps
from heliograph.broker.queues.unit_of_work import UnitOfWork
from heliograph.broker.routing.routes import WORTH_COPYING, Route
from heliograph.mapping import publication_of
from heliograph.mqtt import ProtocolError, Reason

_RETAIN = MQTT_RETAIN.encode()
_SHORT = 2048


def publish_amqp(
    broker: Broker, topic: str, messages: Sequence[bytes], publisher: str = "", *, work: UnitOfWork | None = None
) -> Put | PutSteps:
    """Publish AMQP messages to a topic; which were refused, and whether the sender is to hear only when it is safe.

    Where that takes long, only the steps are returned: nothing has happened before they are done.

    Refused is what somebody wanted and nobody took. `publisher` is the container that sent them. In a unit of work
    nobody sees them before it is committed, and what then finds no room somewhere is not there. Raises the errors of
    `heliograph.amqp` for what is no message.
    """
    try:
        route = broker.routes.find(topic.encode(), broker.limits.topic_levels)
    except ProtocolError as error:
        return _refuse_all(messages, Refusal(conditions.INVALID_FIELD, str(error)))
    if is_reserved(topic.encode()):
        return _refuse_all(messages, Refusal(NOT_ALLOWED, f"clients cannot publish to topic {topic}"))
    if work is None and len(messages) <= route.most and not route.wide:
        return _publish(broker, topic.encode(), messages, publisher, route)
    for message in messages:  # nothing must go wrong any more when some have got them, or at the commit
        peek(message)
        publication_of(message)
    if work is None:
        return _publish_in_parts(broker, topic.encode(), messages, publisher, route)
    kept = list(messages)
    size = sum([len(message) for message in kept])
    too_much = work.publish(len(kept), lambda: _publish_committed(broker, topic.encode(), kept, publisher), size)
    return _refuse_all(messages, too_much) if too_much else TAKEN


def _refuse_all(messages: Sequence[bytes], why: Refusal) -> Put:
    return Put(dict.fromkeys(range(len(messages)), why), stored=False)


def _publish_committed(broker: Broker, topic: bytes, messages: list[bytes], publisher: str) -> None:
    _publish(broker, topic, messages, publisher, broker.routes.find(topic, broker.limits.topic_levels))


def _publish_in_parts(
    broker: Broker, topic: bytes, messages: Sequence[bytes], publisher: str, route: Route
) -> PutSteps:
    """Some messages to some receivers at a time. Refused is what everywhere somebody wanted and nobody took."""
    refused: dict[int, Refusal] = {}
    stored = False
    size = max(map(len, messages))
    most = 1 if route.wide and size > WORTH_COPYING else route.most
    for at in range(0, len(messages), most):
        some = messages[at : at + most]
        puts: list[Put] = []
        for part in broker.parts_there(route, size):
            puts.append(_publish(broker, topic, some, publisher, part, again=bool(puts)))
            yield ENOUGH
        stored = stored or any(put.stored for put in puts)
        asked = [put for put in puts if put is not NOBODY] or puts
        for place, why in asked[-1].refused.items():
            if all(place in put.refused for put in asked):
                refused[at + place] = why
    return Put(refused, stored)


def _publish(
    broker: Broker, topic: bytes, messages: Sequence[bytes], publisher: str, route: Route, *, again: bool = False
) -> Put:
    """Publish in one go; `again` if others have got the messages already, and they are retained if they are to be."""
    spans: list[tuple[int, Span]] = []
    for_mqtt = route.subscriptions or route.groups or route.streams
    if for_mqtt or (not again and any(map(_may_be_retained, messages))):
        spans = spans_of(topic, messages, broker.now(), broker.queues.now())
    elif not route.bound:
        return NOBODY
    put = broker.bindings.put_messages(messages, route.bound, publisher) if route.bound else TAKEN
    stored = put.stored
    taken: set[int] = set()
    full: set[int] = set()
    for first, span in spans:
        reason, number, in_log, _ = broker.publish_to_mqtt(span.for_others() if again else span, None, route)
        stored = stored or in_log > 0
        if reason is Reason.SUCCESS:
            taken.update(range(first, first + number))
            full.update(range(first + number, first + span.count))
        elif reason is Reason.QUOTA_EXCEEDED and not route.bound:
            full.update(range(first, first + span.count))
    if not (put.refused or full):
        return STORED if stored else TAKEN
    return Put(_refused(put, taken, full, topic, route), stored)


def _refused(put: Put, taken: set[int], full: set[int], topic: bytes, route: Route) -> dict[int, Refusal]:
    """What somebody wanted and nobody took, of queues and of MQTT's receivers."""
    refused = {place: why for place, why in put.refused.items() if place not in taken}
    if not route.bound:
        why = Refusal(FULL, f"there is no room for more messages of topic {topic.decode()}")
        refused.update(dict.fromkeys(full, why))
    return refused


def _may_be_retained(message: bytes) -> bool:
    """Whether it is worth looking for the annotation that asks for it."""
    end = len(message)
    if end > _SHORT:  # do not search through a long body
        try:
            end = find_section(message, BODY_SECTION)[0]
        except UNREADABLE:
            return True
    return message.find(_RETAIN, 0, end) >= 0


class Topic:
    """The target of a link on which a client publishes to one topic."""

    __slots__ = ("_broker", "_name", "_publisher")

    def __init__(self, broker: Broker, name: str, publisher: str) -> None:
        self._broker = broker
        self._name = name
        self._publisher = publisher

    def put(self, messages: Sequence[bytes], *, work: UnitOfWork | None = None) -> Put | PutSteps:
        """Publish encoded messages; see `publish_amqp`."""
        return publish_amqp(self._broker, self._name, messages, self._publisher, work=work)
