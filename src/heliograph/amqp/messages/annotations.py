"""Message annotations: the names of all that have a meaning here, and how some are added or removed.

The names are declared in this package, below all others, because `peek` looks for the times of delivery and `encoded`
writes the kinds of JMS. What they stand for in MQTT is in `heliograph.mapping`.
"""

from struct import Struct
from typing import Any, Final

from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.codec.values import Symbol
from heliograph.amqp.messages.section_reading import encoded_annotations
from heliograph.amqp.messages.sections import MESSAGE_ANNOTATIONS_START

# When a message may be delivered.
DELIVERY_PREFIX: Final = "x-opt-delivery-"
"""What the names of both begin with."""
DELIVERY_TIME: Final = Symbol("x-opt-delivery-time")
"""Milliseconds since 1970."""
DELIVERY_DELAY: Final = Symbol("x-opt-delivery-delay")
"""Milliseconds from its arrival on."""

# What JMS clients tell each other.
JMS_PREFIX: Final = "x-opt-jms-"
JMS_MESSAGE_KIND: Final = Symbol("x-opt-jms-msg-type")
JMS_DESTINATION_KIND: Final = Symbol("x-opt-jms-dest")
JMS_REPLY_KIND: Final = Symbol("x-opt-jms-reply-to")

# Between MQTT and AMQP.
MQTT_RETAIN: Final = Symbol("x-opt-retain-message")
"""True: the retain flag of MQTT."""
MQTT_PROPERTIES: Final = Symbol("x-opt-mqtt-properties")
"""Properties of a publication that a message cannot express, all of them as MQTT encodes them."""

# On a dead letter.
DEAD_LETTER_REASON: Final = Symbol("x-opt-dead-letter-reason")
DEAD_LETTER_QUEUE: Final = Symbol("x-opt-dead-letter-queue")
"""The queue that it was in."""
DEAD_LETTER_TIME: Final = Symbol("x-opt-dead-letter-time")
"""Milliseconds since 1970."""
DEAD_LETTER_COUNT: Final = Symbol("x-opt-dead-letter-count")
"""How many deliveries have failed."""
DEAD_LETTER_EXCEPTIONS: Final = Symbol("x-opt-dead-letter-exceptions")
DEAD_LETTER_NODE: Final = Symbol("x-opt-dead-letter-node")
"""What a flow says: the exceptions, and the input node."""

_LONG_MAP = Struct(">BII")


def with_annotations(payload: bytes, annotations: dict[Symbol, Any]) -> bytes:
    """A message with these message annotations beside those it has; no other byte is changed."""
    start, end, known = encoded_annotations(payload)
    new = {name: encode(name) + encode(value) for name, value in annotations.items()}
    return payload[:start] + _section(known | new) + payload[end:]


def without_annotations(payload: bytes, names: frozenset[Symbol]) -> bytes:
    """A message without the message annotations of these names; no other byte is changed."""
    start, end, known = encoded_annotations(payload)
    kept = {name: encoded for name, encoded in known.items() if name not in names}
    return payload[:start] + (_section(kept) if kept else b"") + payload[end:]


def _section(annotations: dict[Any, bytes]) -> bytes:
    pairs, number = b"".join(annotations.values()), 2 * len(annotations)
    if len(pairs) < 255 and number <= 255:
        return MESSAGE_ANNOTATIONS_START + bytes((0xC1, len(pairs) + 1, number)) + pairs
    return MESSAGE_ANNOTATIONS_START + _LONG_MAP.pack(0xD1, len(pairs) + 4, number) + pairs
