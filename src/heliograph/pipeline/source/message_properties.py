"""What the properties of a message say, as columns have it.

Messages that were published over AMQP are in a stream as MQTT messages. What MQTT has no place for is in user
properties then, under names that begin with "amqp.".
"""

from functools import lru_cache
from typing import NamedTuple

from heliograph.mapping import MESSAGE_ID_PROPERTY, QUEUE_PREFIX, REPLY_TO_PROPERTY
from heliograph.mqtt import PacketType, decode_properties, encode_varint


class MessageProperties(NamedTuple):
    """Each field is a column."""

    content_type: str | None = None
    correlation: bytes | None = None
    reply_to: str | None = None
    properties: dict[str, str] | None = None
    """User properties. Of several with one name, the first counts."""
    message_id: str | None = None
    text: bool | None = None
    """Whether the payload is said to be text."""


NO_PROPERTIES = MessageProperties()


@lru_cache(maxsize=1024)
def message_properties(encoded: bytes) -> MessageProperties:
    """What these properties say; they are as MQTT 5 encodes them, without their length."""
    whole = encode_varint(len(encoded)) + encoded
    found, _ = decode_properties(whole, 0, len(whole), PacketType.PUBLISH)
    users: dict[str, str] = {}
    for name, value in found.get("user_property", ()):
        users.setdefault(name, value)
    message_id, reply_to = users.pop(MESSAGE_ID_PROPERTY, None), users.pop(REPLY_TO_PROPERTY, None)
    # Where answers go if that is not a topic, as in queue://answers; without a prefix it is a queue, too.
    if reply_to and "://" not in reply_to:
        reply_to = QUEUE_PREFIX + reply_to
    return MessageProperties(
        found.get("content_type"),
        found.get("correlation_data"),
        found.get("response_topic", reply_to),
        users or None,
        message_id,
        found.get("payload_format_indicator") == 1 or None,
    )
