"""Mapping of reply addresses, delivery guarantees and lifetimes.

The AMQP reply-to address and the MQTT response topic; `durable` and QoS; `ttl`, the expiry time and the lifetime left.
"""

from typing import Any, Final

from heliograph.amqp.messages import jms_kinds
from heliograph.mqtt import ProtocolError, check_topic_name

QUEUE_PREFIX: Final = "queue://"
TOPIC_PREFIX: Final = "topic://"
"""Clients learn of both when they connect; JMS clients then put them before all names."""
LONGEST_TTL: Final = 2**32 - 1
"""Milliseconds: AMQP has no larger number for it."""
_QUEUES = (jms_kinds.QUEUE, jms_kinds.TEMPORARY_QUEUE)


def response_topic(address: str, kind: Any) -> tuple[str | None, str]:
    """Return the response topic for an address (None if it is not a topic), and the address with its prefix.

    `kind` is the value of the JMS annotation, if there is one.
    """
    if kind in _QUEUES and not address.startswith(QUEUE_PREFIX):
        address = QUEUE_PREFIX + address
    topic = address.removeprefix(TOPIC_PREFIX)
    try:
        check_topic_name(topic)
    except ProtocolError:
        return None, address
    return None if address.startswith(QUEUE_PREFIX) else topic, address


def reply_to(topic: str) -> str:
    """The reply-to address for a response topic."""
    return TOPIC_PREFIX + topic


def is_durable(qos: int) -> bool:
    """Whether a publication of this QoS becomes a durable message."""
    return qos > 0


def qos_of(durable: bool) -> int:
    """The QoS of the publication that a message becomes."""
    return 1 if durable else 0


def life_left(ttl: int, expires: int, wall: int) -> int | None:
    """Return the remaining milliseconds of a message that arrives now (`wall`); 0 or less: expired; None: no limit.

    `ttl` counts from its arrival, `expires` is a point in time; 0 means none. The earlier end counts.
    """
    if not expires:
        return ttl or None
    return min(ttl, expires - wall) if ttl else expires - wall
