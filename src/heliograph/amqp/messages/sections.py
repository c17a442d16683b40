"""The sections of a message: their descriptors, and the fields of the two that are lists.

What reads or writes bytes of messages takes descriptors and positions of fields from here.
"""

from typing import Any, Final

from heliograph.amqp.codec.composite import (
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
"""The descriptors, in the order that the sections have in a message."""
DEFAULT_PRIORITY: Final = 4
"""Of a message whose header does not give one."""

HEADER_NAME, PROPERTIES_NAME = "amqp:header:list", "amqp:properties:list"
SECTION_NAMES: Final = {
    HEADER_NAME: HEADER,
    "amqp:delivery-annotations:map": DELIVERY_ANNOTATIONS,
    "amqp:message-annotations:map": MESSAGE_ANNOTATIONS,
    PROPERTIES_NAME: PROPERTIES,
    "amqp:application-properties:map": APPLICATION_PROPERTIES,
    "amqp:data:binary": DATA,
    "amqp:amqp-sequence:list": SEQUENCE,
    "amqp:amqp-value:*": VALUE,
    "amqp:footer:map": FOOTER,
}


def section_start(code: int) -> bytes:
    """The first bytes of a section, in the form that everybody sends: the descriptor as a small unsigned long."""
    return bytes((0, 0x53, code))


HEADER_START: Final = section_start(HEADER)
DELIVERY_ANNOTATIONS_START: Final = section_start(DELIVERY_ANNOTATIONS)
MESSAGE_ANNOTATIONS_START: Final = section_start(MESSAGE_ANNOTATIONS)
PROPERTIES_START: Final = section_start(PROPERTIES)
APPLICATION_PROPERTIES_START: Final = section_start(APPLICATION_PROPERTIES)
DATA_START: Final = section_start(DATA)
SEQUENCE_START: Final = section_start(SEQUENCE)
VALUE_START: Final = section_start(VALUE)
FOOTER_START: Final = section_start(FOOTER)


@composite(HEADER, HEADER_NAME)
class Header(Fields):
    """Delivery details, which intermediaries may change."""

    durable: bool = part(BOOLEAN, default=False)
    priority: int = part(UBYTE, default=DEFAULT_PRIORITY)
    ttl: int | None = part(UINT, default=None)
    first_acquirer: bool = part(BOOLEAN, default=False)
    delivery_count: int = part(UINT, default=0)


@composite(PROPERTIES, PROPERTIES_NAME)
class Properties(Fields):
    """Set by the sender, and never changed on the way."""

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


# Positions of the fields in their sections.
DURABLE, PRIORITY, TTL, FIRST_ACQUIRER, DELIVERY_COUNT = range(len(Header.WIRE))
MESSAGE_ID, USER_ID, TO, SUBJECT, REPLY_TO, CORRELATION_ID, CONTENT_TYPE, CONTENT_ENCODING = range(8)
ABSOLUTE_EXPIRY_TIME, CREATION_TIME, GROUP_ID, GROUP_SEQUENCE, REPLY_TO_GROUP_ID = range(8, len(Properties.WIRE))

PROPERTY_NAMES: Final = tuple(field.name for field in Properties.WIRE)
"""The fields of the properties, in order."""
HEADER_DEFAULTS: Final = tuple(field.default for field in Header.WIRE)
