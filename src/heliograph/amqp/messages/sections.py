"""The sections of a message: their numbers, and the two that are lists of fields."""

from typing import Any

from heliograph.amqp.composite import (
    ANYTHING,
    BINARY,
    BOOLEAN,
    STRING,
    SYMBOL,
    TIMESTAMP,
    UBYTE,
    UINT,
    Fields,
    composite,
    part,
)

HEADER, DELIVERY_ANNOTATIONS, MESSAGE_ANNOTATIONS, PROPERTIES = 0x70, 0x71, 0x72, 0x73
APPLICATION_PROPERTIES, DATA, SEQUENCE, VALUE, FOOTER = 0x74, 0x75, 0x76, 0x77, 0x78

SECTION_NAMES = {
    "amqp:header:list": HEADER,
    "amqp:delivery-annotations:map": DELIVERY_ANNOTATIONS,
    "amqp:message-annotations:map": MESSAGE_ANNOTATIONS,
    "amqp:properties:list": PROPERTIES,
    "amqp:application-properties:map": APPLICATION_PROPERTIES,
    "amqp:data:binary": DATA,
    "amqp:amqp-sequence:list": SEQUENCE,
    "amqp:amqp-value:*": VALUE,
    "amqp:footer:map": FOOTER,
}


@composite(HEADER, "amqp:header:list")
class Header(Fields):
    """What may change on the way."""

    durable: bool = part(BOOLEAN, default=False)
    priority: int = part(UBYTE, default=4)
    ttl: int | None = part(UINT, default=None)
    first_acquirer: bool = part(BOOLEAN, default=False)
    delivery_count: int = part(UINT, default=0)


@composite(PROPERTIES, "amqp:properties:list")
class Properties(Fields):
    """What the sender says of its message, for good."""

    message_id: Any = part(ANYTHING, default=None)
    user_id: bytes | None = part(BINARY, default=None)
    to: str | None = part(ANYTHING, default=None)
    subject: str | None = part(STRING, default=None)
    reply_to: str | None = part(ANYTHING, default=None)
    correlation_id: Any = part(ANYTHING, default=None)
    content_type: str | None = part(SYMBOL, default=None)
    content_encoding: str | None = part(SYMBOL, default=None)
    absolute_expiry_time: int | None = part(TIMESTAMP, default=None)
    creation_time: int | None = part(TIMESTAMP, default=None)
    group_id: str | None = part(STRING, default=None)
    group_sequence: int | None = part(UINT, default=None)
    reply_to_group_id: str | None = part(STRING, default=None)
