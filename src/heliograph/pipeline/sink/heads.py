"""The parts of a message other than its id and body, from the values of a row."""

from collections.abc import Mapping
from typing import Any

from heliograph.amqp.messages import (
    DEAD_LETTER_EXCEPTIONS,
    DEAD_LETTER_NODE,
    DEAD_LETTER_QUEUE,
    DEAD_LETTER_REASON,
    DEAD_LETTER_TIME,
    MQTT_RETAIN,
    MessageTemplate,
    sections,
)
from heliograph.client import Queue, Topic
from heliograph.mapping import QUEUE_PREFIX, TOPIC_PREFIX, identifier_from_correlation_data, is_durable
from heliograph.pipeline.errors import InvalidRow
from heliograph.pipeline.sink.options import SinkOptions

Values = Mapping[str, Any]
"""The values of a row by column; what is null may be missing."""

_KINDS = ("topic", "queue", "dead-letter")
_REASONS = {
    "origin": DEAD_LETTER_QUEUE,
    "reason": DEAD_LETTER_REASON,
    "exceptions": DEAD_LETTER_EXCEPTIONS,
    "node": DEAD_LETTER_NODE,
}


def template_of(values: Values, options: SinkOptions, now: int) -> MessageTemplate:
    """What the messages of all rows with these values have in common; a `Problem` if they cannot be messages."""
    to = _address(values, options)
    to_topic = to.startswith(TOPIC_PREFIX)
    reply_to = values.get("reply_to") or None
    if reply_to is not None and "://" not in reply_to:
        reply_to = (TOPIC_PREFIX if to_topic else QUEUE_PREFIX) + reply_to
    expiry = values.get("expiry")
    return MessageTemplate(
        to=to,
        to_kind=(Topic if to_topic else Queue).jms_type,
        text=bool(values.get("text")),
        persistent=_persistent(values),
        priority=_number(values, "priority", sections.DEFAULT_PRIORITY, 9),
        ttl=None if expiry is None or expiry < 0 else max(1, expiry),
        properties=values.get("properties"),
        annotations=_annotations(values, now),
        reply_to=reply_to,
        reply_kind=(Topic if reply_to and reply_to.startswith(TOPIC_PREFIX) else Queue).jms_type,
        correlation_id=_correlation(values.get("correlation")),
        content_type=values.get("content_type"),
        created=now,
        group_id=values.get("group_id"),
        group_sequence=values.get("group_sequence"),
    )


def _address(values: Values, options: SinkOptions) -> str:
    if options.topic:
        return TOPIC_PREFIX + options.topic
    if options.queue:
        return QUEUE_PREFIX + options.queue
    kind, destination = values.get("kind"), values.get("destination")
    if kind is not None:
        if kind not in _KINDS:
            raise InvalidRow(f'expected {", ".join(_KINDS)} as kind, found "{kind}"')
        if not destination:
            raise InvalidRow(f"has the kind {kind} and no destination")
        return (TOPIC_PREFIX if kind == "topic" else QUEUE_PREFIX) + str(destination)
    topic, queue = values.get("topic"), values.get("queue")
    if topic and queue:
        raise InvalidRow(f'expected a topic or a queue, found both: "{topic}" and "{queue}"')
    if topic:
        return TOPIC_PREFIX + str(topic)
    if queue:
        return QUEUE_PREFIX + str(queue)
    raise InvalidRow("has no destination: topic, queue and kind are null, empty or not there")


def _persistent(values: Values) -> bool:
    qos = _number(values, "qos", 1, 2)
    persistent = values.get("persistent")
    return is_durable(qos) if persistent is None else bool(persistent)


def _number(values: Values, name: str, default: int, most: int) -> int:
    value = values.get(name)
    if value is None:
        return default
    if not 0 <= value <= most:
        raise InvalidRow(f"expected 0 to {most} as {name}, found {value}")
    return int(value)


def _correlation(value: bytes | str | None) -> Any:
    if not value:
        return None
    return identifier_from_correlation_data(value.encode() if isinstance(value, str) else value)


def _annotations(values: Values, now: int) -> dict[str, Any]:
    annotations: dict[str, Any] = {MQTT_RETAIN: True} if values.get("retain") else {}
    if values.get("kind") == "dead-letter":
        annotations |= {DEAD_LETTER_TIME: now}
        annotations |= {key: values[name] for name, key in _REASONS.items() if values.get(name) is not None}
    return annotations
